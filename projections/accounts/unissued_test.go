package accounts_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/apikey"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
)

type issueRow struct {
	Item, Stream string
	Due          time.Time
	Cause        string
}

const toIssue = `select item, stream, due_at, cause from read_v1.todo_issue_keys order by due_at`

func TestAKeyWithoutAStreamIsOnTheListUntilItHasOneOrIsRevoked(t *testing.T) {
	w := newWorld(t)
	listed := func() (due []time.Time) {
		t.Helper()
		for _, row := range feedtest.Rows[issueRow](t, w, toIssue) {
			require.Equal(t, "account-a1", row.Stream)
			require.Equal(t, row.Cause, row.Item)
			due = append(due, row.Due)
		}
		return due
	}

	// given keys of earlier releases and one of this one
	w.Write(t, "apikey-h4", apikey.Issued{Hash: "h4", Account: "a1", At: now})
	w.Write(t, "account-a1",
		account.Opened{Account: "a1", Plan: plan.Indie, At: now},
		account.APIKeyCreated{Account: "a1", Hash: "h1", Masked: "m1", At: now},
		account.APIKeyCreated{Account: "a1", Hash: "h2", Masked: "m2", At: now.Add(time.Second)},
		account.APIKeyCreated{Account: "a1", Hash: "h3", Masked: "m3", At: now.Add(time.Minute)},
		account.APIKeyCreated{Account: "a1", Hash: "h4", Masked: "m4", Issued: true, At: now.Add(time.Hour)},
	)
	require.Equal(t, []time.Time{now, now.Add(time.Second), now.Add(time.Minute)}, listed())

	// the cause is the event that created the key
	var created eventlog.Recorded
	for event, err := range w.Log.ReadStream(t.Context(), "account-a1", 0) {
		require.NoError(t, err)
		if event.Revision == 1 {
			created = event
		}
	}
	require.Equal(t, created.ID.String(), feedtest.Rows[issueRow](t, w, toIssue)[0].Cause)

	// when one is issued and one is revoked, then one is left; a snapshot changes nothing
	w.Write(t, "apikey-h1", apikey.Issued{Hash: "h1", Account: "a1", At: now})
	revision := w.Append(t, "account-a1", 4, account.APIKeyRevoked{Account: "a1", Hash: "h2", Masked: "m2", At: now})
	require.Equal(t, []time.Time{now.Add(time.Minute)}, listed())
	w.Append(t, "account-a1", revision, account.SnapshotTaken{
		Facts: account.Facts{Account: "a1", OpenedOn: plan.Free, OpenedAt: now, Keys: []account.Key{{Hash: "h3", Masked: "m3"}}}, At: now,
	})
	require.Equal(t, []time.Time{now.Add(time.Minute)}, listed())
	require.Equal(t, []accountRow{plain("a1", plan.Indie)}, feedtest.Rows[accountRow](t, w, accountsOf, "a1"))
	require.Len(t, feedtest.Rows[keyRow](t, w, keysOf, "a1"), 3)
}
