package reader

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Readings come from a process that has read a client's text.
func TestReadingsOfAnotherTextAreRefused(t *testing.T) {
	for _, payload := range []string{
		``, `{}`, `[]`, `[{"original":"東","spoken":" トー"}]`, `[{"original":"東京都","spoken":""}]`,
		`[{"original":"京","spoken":" キョー"},{"original":"東","spoken":""}]`,
		`[{"original":"","spoken":"ア"},{"original":"東京"}]`,
		"[{\"original\":\"東京\",\"spoken\":1}]",
	} {
		_, err := parse([]byte(payload), "東京")
		require.ErrorIs(t, err, errReadings, payload)
	}
	readings, err := parse([]byte(`[{"original":"東京","spoken":" トーキョー"}]`), "東京")
	require.NoError(t, err)
	require.Len(t, readings, 1)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`[{"original":"東京","spoken":" トーキョー"}]`), "東京")
	f.Fuzz(func(t *testing.T, payload []byte, text string) {
		readings, err := parse(payload, text)
		if err != nil {
			return
		}
		original := ""
		for _, r := range readings {
			original += r.Original
		}
		require.Equal(t, text, original)
	})
}
