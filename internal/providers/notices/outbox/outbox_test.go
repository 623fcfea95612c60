package outbox_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/notices"
	"github.com/recital-tts/recital/internal/providers/notices/outbox"
)

func TestTheNewestNoticesAreKept(t *testing.T) {
	t.Parallel()
	var o outbox.Outbox
	for i := range 300 {
		require.NoError(t, o.Send(t.Context(), notices.Message{ID: strconv.Itoa(i)}))
	}
	require.NoError(t, o.Send(t.Context(), notices.Message{ID: "299"})) // a repetition
	kept := o.Messages()
	require.Len(t, kept, 200)
	require.Equal(t, "299", kept[0].ID)
	require.Equal(t, "100", kept[199].ID)
}
