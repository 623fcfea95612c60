package speech

import (
	"os"
	"reflect"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	port "github.com/recital-tts/recital/internal/speech"
)

// The first table of the document has a row for each parameter, and no other rows.
func TestEveryParameterIsDocumented(t *testing.T) {
	document, err := os.ReadFile("../../docs/speech-parameters.md")
	require.NoError(t, err)
	var fields []string
	for field := range reflect.TypeFor[request]().Fields() {
		fields = append(fields, field.Tag.Get("body"))
	}
	var rows []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| [^|]+ \\| [^|]+ \\| [^|]{20,} \\|$").FindAllSubmatch(document, -1) {
		rows = append(rows, string(row[1]))
	}
	require.ElementsMatch(t, fields, rows)
}

func TestWhatAParameterSaysReachesTheSpeaker(t *testing.T) {
	in := request{
		Text: "hi", Voice: "leah", Language: "en", Format: "mp3", Speed: 1, Model: new("blizzard-2.0"), Seed: new(int64(9)),
		Length: new(4.5), Conversational: new(true), Temperature: new(2.0), TopP: new(0.5), TopK: new(3), Expressive: new(1.5),
		Quality: new(1), Solver: new("heun"),
	}
	order, err := in.synthesis()
	require.NoError(t, err)
	require.Equal(t, "blizzard-2.0", order.Model)
	require.EqualValues(t, 9, order.Seed)
	require.Equal(t, 4.5, order.Length)
	require.Equal(t, port.Prosody{
		Conversational: true, Temperature: new(2.0), TopP: new(0.5), TopK: new(3), Expressive: new(1.5), Quality: new(1), Solver: "heun",
	}, order.Prosody)

	plain, err := request{Text: "hi", Voice: "leah", Language: "auto", Format: "mp3", Speed: 1}.synthesis()
	require.NoError(t, err)
	require.Zero(t, plain.Prosody)
	require.Zero(t, plain.Length)
}
