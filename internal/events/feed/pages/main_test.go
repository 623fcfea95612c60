package pages

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

func TestMain(m *testing.M) {
	// Watermill's suite leaves messages unread, so their senders wait forever.
	const suite = "github.com/ThreeDotsLabs/watermill/internal/subscriber.(*multiplier).Subscribe"
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(suite+".func2"), goleak.IgnoreAnyFunction(suite+".func3"))
}

// patience bounds waits of tests; it only matters if a test fails.
const patience = 60 * time.Second

// These are the tests' events.
type (
	opened struct {
		ID    string
		Label string
	}
	raised struct {
		ID string
		By int64
	}
	closed struct{ ID string }
)

func registry(t testing.TB) *eventlog.Registry {
	t.Helper()
	r, err := eventlog.NewRegistry(eventlog.In("counter-",
		eventlog.Define[opened]("counter-opened", 1),
		eventlog.Define[raised]("counter-raised", 1),
		eventlog.Define[closed]("counter-closed", 1),
	)...)
	require.NoError(t, err)
	return r
}

// write appends events to a new stream.
func write(t testing.TB, log eventlog.Log, events ...any) eventlog.Position {
	t.Helper()
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: time.Unix(1_790_000_000, 0)}
	proposed, err := registry(t).Encode(uuid.New(), 0, meta, events...)
	require.NoError(t, err)
	appended, err := log.Append(t.Context(), "counter-"+uuid.NewString(), eventlog.NoStream, proposed)
	require.NoError(t, err)
	return appended.Position
}
