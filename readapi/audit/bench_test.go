package audit_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkAudit reads pages of 100 entries from the beginning, the middle and the end of the list of each filter, over
// HTTP, compared with a query of as many rows by the primary key. A figure is the median time of a page, which should
// not depend on the number of entries. Every page is full, except that a session has one entry. entries/s is the rate
// of the projection.
func BenchmarkAudit(b *testing.B) {
	for _, n := range []int{10_000, benchtest.Size(1_000_000, 20_000)} {
		d := newServer(b)
		began := time.Now()
		d.fill(n)
		shown := float64(n) / time.Since(began).Seconds()
		at := func(entry int) string { return noon.Add(time.Duration(entry) * time.Second).Format(time.RFC3339) }
		middle, late := at(n/2), at(n*3/4)
		for _, filter := range []struct {
			name    string
			entries int // of a page
			pages   [][]string
		}{
			{"all", 100, [][]string{{}, {"from", middle}, {"from", late}}},
			{"account", 100, [][]string{
				{"account", "a7"}, {"account", "big", "from", middle}, {"account", "big", "from", late},
			}},
			{"session", 1, [][]string{{"session", "s1"}, {"session", fmt.Sprint("s", n/2)}, {"session", fmt.Sprint("s", n-1)}}},
			{"kind", 100, [][]string{
				{"kind", "session-ended"}, {"kind", "session-ended", "from", middle},
				{"kind", "session-ended", "account", "big"},
			}},
		} {
			b.Run(fmt.Sprintf("entries=%d/%s", n, filter.name), func(b *testing.B) {
				var ours, bare []float64
				for b.Loop() {
					for _, page := range filter.pages {
						ours = append(ours, d.timePage(b, filter.entries, page))
						bare = append(bare, d.timeBare(b))
					}
				}
				benchtest.Compare(b, "ms", benchtest.Median(ours), benchtest.Median(bare))
				b.ReportMetric(shown, "entries/s")
				benchtest.Finish(b)
			})
		}
	}
}

// fill writes opened sessions, a fifth of them ended; half are one account's, the others fifty accounts'.
func (d *server) fill(n int) {
	d.t.Helper()
	var last eventlog.Position
	for done := 0; done < n; {
		var events []any
		at := noon.Add(time.Duration(done) * time.Second)
		for ; len(events) < 500 && done < n; done++ {
			id, owner := fmt.Sprint("s", done), "big"
			if done%2 == 0 {
				owner = fmt.Sprint("a", done%100+7)
			}
			var event any = session.Opened{
				Session: id, Account: owner, Provider: "idp_1", Address: make([]byte, 60), At: at, ExpiresAt: at,
			}
			if done%10 < 2 {
				event = session.Ended{Session: id, Account: owner, Reason: session.Expired, At: at}
			}
			events = append(events, event)
		}
		meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorAccount, Account: "big"}, Time: at}
		proposed, err := d.Registry.Encode(uuid.New(), 0, meta, events...)
		require.NoError(d.t, err)
		appended, err := d.Log.Append(d.t.Context(), session.Stream(uuid.NewString()), eventlog.NoStream, proposed)
		require.NoError(d.t, err)
		last = appended.Position
	}
	require.NoError(d.t, d.Projector.Wait(d.t.Context(), last))
	_, err := d.Pool.Exec(d.t.Context(), "analyze")
	require.NoError(d.t, err)
}

func (d *server) timePage(b *testing.B, entries int, filters []string) float64 {
	b.Helper()
	began := time.Now()
	status, body := d.ask(b, auditor, "/admin/audit/sessions", of(filters...))
	took := time.Since(began)
	require.Equal(b, http.StatusOK, status, body)
	require.Equal(b, entries, strings.Count(body, `"event_id"`), "%v", filters)
	return took.Seconds() * 1000
}

func (d *server) timeBare(b *testing.B) float64 {
	b.Helper()
	began := time.Now()
	rows, err := d.Pool.Query(b.Context(), `
		select at, kind, account_id, session_id, said, correlation, event_id, stream, revision, personal::text
		from read_v1.audit_entries order by log_commit, log_prepare limit 100`)
	require.NoError(b, err)
	found, err := pgx.CollectRows(rows, pgx.RowToMap)
	require.NoError(b, err)
	took := time.Since(began)
	require.Len(b, found, 100)
	return took.Seconds() * 1000
}
