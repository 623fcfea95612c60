package hosting_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	hostingevents "github.com/recital-tts/recital/commands/hosting"
	"github.com/recital-tts/recital/domain/hosting"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	projections "github.com/recital-tts/recital/projections/hosting"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReleasedReadModels(t *testing.T) {
	feedtest.RequireReleased(t, projections.ReadModels()...)
}

func TestAVariableIsOnTheListWhileItIsBeingChanged(t *testing.T) {
	type row struct {
		Item, Stream string
		Due          time.Time
	}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	w := feedtest.New(t, feedtest.Registry(t, hostingevents.Events()), projections.ReadModels()...)
	revision := eventlog.NoStream
	listed := func(events ...any) (hashes []string) {
		t.Helper()
		revision = w.Append(t, "hosting-a1", revision, events...)
		for _, r := range feedtest.Rows[row](t, w,
			`select item, stream, due_at from read_v1.todo_complete_variable order by item`) {
			require.Equal(t, row{r.Item, "hosting-a1", now.Add(hosting.Patience)}, r)
			hashes = append(hashes, r.Item)
		}
		return hashes
	}
	begun := func(hash string) hosting.VariableBegun {
		return hosting.VariableBegun{
			Account: "a1", Config: "c1", Project: "p1", SealedName: []byte("site"), Hash: hash, Masked: "rk_****", At: now,
		}
	}
	require.Empty(t, listed(hosting.Connected{Account: "a1", Config: "c1", Token: []byte("sealed"), At: now}))
	require.Equal(t, []string{"h1"}, listed(begun("h1")))
	require.Equal(t, []string{"h2"}, listed(hosting.VariableRemoved{Account: "a1", Hash: "h1", At: now}, begun("h2")))
	require.Empty(t, listed(hosting.VariableSet{Account: "a1", Hash: "h2", Variable: "env_1", At: now}))
	require.Equal(t, []string{"h2"}, listed(hosting.VariableRemovalBegun{Account: "a1", Hash: "h2", At: now}))
	require.Empty(t, listed(hosting.VariableRemoved{Account: "a1", Hash: "h2", At: now}))
	require.Empty(t, listed(hosting.Ended{Account: "a1", At: now}))
}
