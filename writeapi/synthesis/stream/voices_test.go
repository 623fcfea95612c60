package stream_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/speech"
)

// refusing is a set of voices that cannot speak.
type refusing struct{ err error }

func (r refusing) Speaking(context.Context, string, string) (speech.Voice, error) {
	return speech.Voice{}, r.err
}

// A voice that cannot speak is an error in each dialect before the session is ready, and the close code tells the
// client whether to retry.
func TestAVoiceThatCannotSpeakEndsTheSession(t *testing.T) {
	h := newHouse(t)
	id, key := h.open("free")
	for name, c := range map[string]struct {
		err       error
		kind      string
		old, code int
	}{
		"not ready":       {domain.Refuse(domain.Conflict, "The voice is not ready yet"), "conflict_error", 1013, 1013},
		"broken for good": {domain.Refuse(domain.Rejected, "The voice is broken"), "conflict_error", 1002, 1002},
		"of another":      {domain.Refuse(domain.NotFound, "There is no such voice"), "not_found_error", 1002, 1002},
	} {
		t.Run(name, func(t *testing.T) {
			h.synth.Voices = refusing{c.err}
			for _, dialect := range []string{"", dialectB} {
				frames, code := h.begin(t, key, dialect).rest()
				require.Equal(t, c.old, code)
				require.Len(t, frames, 1)
				require.JSONEq(t, fmt.Sprintf(`{"error":%q}`, c.err.Error()), frames[0].text)
			}
			frames, code := h.begin(t, key, dialectC).rest()
			require.Equal(t, c.code, code)
			require.Len(t, frames, 1, "it is never said to be ready")
			require.Contains(t, frames[0].text, fmt.Sprintf(`"error":{"type":%q,"message":%q}`, c.kind, c.err.Error()))
		})
	}
	require.Zero(t, h.requireIdle(id))
}
