package request_test

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/bind"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/writeapi/synthesis/request"
)

func names(t *testing.T, variant bind.Variant) (names []string) {
	t.Helper()
	plan, err := variant.Compile(reflect.TypeFor[request.Speech]())
	require.NoError(t, err)
	for _, f := range plan.Fields() {
		names = append(names, f.Name)
	}
	return names
}

// The first table of the document has a row for each parameter, and no other rows.
func TestEveryParameterIsDocumented(t *testing.T) {
	document, err := os.ReadFile("../../../docs/speech-parameters.md")
	require.NoError(t, err)
	var rows []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| [^|]+ \\| [^|]+ \\| [^|]{20,} \\|$").FindAllSubmatch(
		document, -1) {
		rows = append(rows, string(row[1]))
	}
	require.ElementsMatch(t, names(t, request.Post()), rows)
}

// Every parameter of a body is also one of an address, except for one name of old clients.
func TestEachVariantHasItsParameters(t *testing.T) {
	both := []string{
		"text", "voice", "model", "language", "format", "sample_rate", "speed", "conversational", "temperature", "top_k",
		"top_p", "length",
		"expressive", "quality", "solver", "seed", "return_timestamps", "debug", "original_text", "original_language",
	}
	require.ElementsMatch(t, append([]string{"return_durations"}, both...), names(t, request.Post()))
	require.ElementsMatch(t, append([]string{"delay_headers"}, both...), names(t, request.Get()))
	require.ElementsMatch(t, []string{"text", "voice", "format", "speed", "seed", "length", "extras"},
		names(t, request.Beta()))
	require.ElementsMatch(t, []string{
		"X-API-Key", "voice", "model", "language", "format", "sample_rate", "speed", "seed", "conversational", "temperature",
		"top_k", "top_p",
		"expressive", "quality", "solver", "send_extras", "return_timestamps",
	}, names(t, request.Socket()))
}

func TestNullIsAsGoodAsAbsentForEveryParameter(t *testing.T) {
	for name, variant := range map[string]bind.Variant{"post": request.Post(), "beta": request.Beta(),
		"socket": request.Socket()} {
		t.Run(name, func(t *testing.T) {
			decode := web.Decoder[request.Speech](variant)
			given := map[string]any{"voice": "leah"}
			if name != "socket" {
				given["text"] = "hi"
			}
			with := func(parameter string) (request.Speech, error) {
				all := maps.Clone(given)
				all[parameter] = nil
				document, err := json.Marshal(all)
				require.NoError(t, err)
				return decode(document)
			}
			want, err := with("unknown")
			require.NoError(t, err)
			for _, parameter := range names(t, variant) {
				got, err := with(parameter)
				if _, needed := given[parameter]; needed {
					require.ErrorContains(t, err, parameter+": Input should be a valid string")
					continue
				}
				require.NoError(t, err, parameter)
				require.Equal(t, want, got, parameter)
			}
		})
	}
}

func TestWhatAParameterSaysReachesTheSpeaker(t *testing.T) {
	in := request.Speech{
		Text: "hi", Voice: "leah", Language: request.Language{Engine: "en-us"}, Format: "mp3", Speed: 1,
		Model: new("blizzard-2.0"), Seed: new(int64(9)),
		Length: new(4.5), Conversational: new(true), Temperature: new(2.0), TopP: new(0.5), TopK: new(3),
		Expressive: new(1.5),
		Quality:    new(1), Solver: new("heun"),
	}
	order := in.Synthesis()
	require.Equal(t, "blizzard-2.0", order.Model)
	require.EqualValues(t, 9, order.Seed)
	require.Equal(t, 4.5, order.Length)
	require.Equal(t, speech.Prosody{
		Conversational: true, Temperature: new(2.0), TopP: new(0.5), TopK: new(3), Expressive: new(1.5), Quality: new(1),
		Solver: "heun",
	}, order.Prosody)

	plain := request.Speech{Text: "hi", Voice: "leah", Format: "mp3", Speed: 1}.Synthesis()
	require.Zero(t, plain.Prosody)
	require.Zero(t, plain.Length)
}

func TestSeedsAreGivenBack(t *testing.T) {
	seed := int64(-5)
	require.Equal(t, seed, *request.Speech{Seed: &seed}.WithSeed().Seed)
	require.GreaterOrEqual(t, *request.Speech{}.WithSeed().Seed, int64(0))
}
