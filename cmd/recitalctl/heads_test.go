package main

import (
	"encoding/json"
	"io"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/chain"
)

// An export continues a file wherever an earlier export, or an editor, has cut it.
func TestExportedHeadsAreContinued(t *testing.T) {
	at := time.Unix(1, 0).UTC()
	heads := []audit.Head{{Count: 1, At: at, Hash: "a"}, {Count: 2, At: at, Hash: "b"}}
	var logged iter.Seq2[chain.LoggedHead, error] = func(yield func(chain.LoggedHead, error) bool) {
		for _, head := range heads {
			if !yield(chain.LoggedHead{Head: head}, nil) {
				return
			}
		}
	}
	first, err := json.Marshal(heads[0])
	require.NoError(t, err)
	second, err := json.Marshal(heads[1])
	require.NoError(t, err)
	line := string(first) + "\n"
	whole := line + string(second) + "\n"
	for cut := range len(whole) + 1 {
		file := filepath.Join(t.TempDir(), "heads.jsonl")
		require.NoError(t, os.WriteFile(file, []byte(whole[:cut]), 0o600))
		require.NoError(t, exportHeads(file, logged, terminal{out: io.Discard}))
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, whole, string(content), "cut after %d bytes", cut)
	}
}
