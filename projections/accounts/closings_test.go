package accounts_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
)

type dueRow struct {
	Item, Stream string
	Due          time.Time
	Cause        string
}

func TestAClosedAccountIsOnTheListUntilItIsErasedForGood(t *testing.T) {
	w := suite.World(t)
	listed := func() []dueRow {
		t.Helper()
		return feedtest.Rows[dueRow](t, w, `select item, stream, due_at, cause from read_v1.todo_close_account order by item`)
	}
	row := func(due time.Time, cause uuid.UUID) []dueRow {
		return []dueRow{{"a1", "account-a1", due, cause.String()}}
	}
	last := func() (id uuid.UUID) {
		t.Helper()
		for event, err := range w.Log.ReadStream(t.Context(), "account-a1", 0) {
			require.NoError(t, err)
			id = event.ID
		}
		return id
	}
	revision := w.Append(t, "account-a1", eventlog.NoStream, account.Opened{Account: "a1", Plan: plan.Free, At: now})
	require.Empty(t, listed())

	revision = w.Append(t, "account-a1", revision, account.Closed{Account: "a1", At: now})
	require.Equal(t, row(now, last()), listed(), "it is due at once")

	revision = w.Append(t, "account-a1", revision, account.Erased{Account: "a1", AgainAt: now.Add(time.Hour), At: now})
	require.Equal(t, row(now.Add(time.Hour), last()), listed(), "and once more")

	w.Append(t, "account-a1", revision, account.ErasureRepeated{Account: "a1", At: now})
	require.Empty(t, listed())
}
