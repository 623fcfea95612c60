package synthesis

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPieceOfAudioIsAnEvent(t *testing.T) {
	var out bytes.Buffer
	for _, piece := range []string{"ID3", "a"} {
		n, err := deltas{&out}.Write([]byte(piece))
		require.NoError(t, err)
		require.Equal(t, len(piece), n)
	}
	require.NoError(t, writeEvent(&out, audioDone{Type: "speech.audio.done", Usage: tokenUsage{Input: 7, Total: 7}}))
	require.Equal(t, `data: {"type":"speech.audio.delta","audio":"SUQz"}

data: {"type":"speech.audio.delta","audio":"YQ=="}

data: {"type":"speech.audio.done","usage":{"input_tokens":7,"output_tokens":0,"total_tokens":7}}

`, out.String())
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// Audio that the connection has not accepted is not charged.
func TestAPieceThatIsNotTakenIsAnError(t *testing.T) {
	n, err := deltas{broken{}}.Write([]byte("ID3"))
	require.ErrorIs(t, err, errBroken)
	require.Zero(t, n)
}
