package accounts_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// world is what the tests here do with a log.
type world struct{ *commandstest.World }

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{commandstest.New(t)}
}

// raw writes an event as an earlier release has encoded it, the first of its stream.
func (w *world) raw(stream, name string, version int, data []byte) {
	w.T.Helper()
	meta := fmt.Appendf(nil, `{"v":%d,"time":%q,"actor":{"kind":"system"}}`, version, w.Clock.Now().Format("2006-01-02T15:04:05Z07:00"))
	_, err := w.Log.Log.Append(w.T.Context(), stream, eventlog.NoStream, []eventlog.Proposed{{ID: uuid.New(), Type: name, Data: data, Metadata: meta}})
	require.NoError(w.T, err)
}
