package ledger_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	accountsevents "github.com/recital-tts/recital/commands/accounts"
	ledgerevents "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	projection "github.com/recital-tts/recital/projections/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 3, 10, 12, 30, 15, 123_456_000, time.UTC)

var suite = feedtest.Suite{
	Events:      slices.Concat(ledgerevents.Events(), accountsevents.Events()),
	Projections: projection.ReadModels(),
}

func TestReleasedReadModels(t *testing.T) { suite.RequireReleased(t) }

type periodRow struct {
	Account              string
	Start, End           time.Time
	Plan                 string
	Limit                *int64
	Characters           int64
	PlaygroundCharacters int64
	Granted              int64
	Carried              int64
	CreditLeft           int64
}

type dayRow struct {
	Day             time.Time
	API, Playground int64
}

type reservationRow struct {
	ID, Stream, Account string
	Characters          int64
	ExpiresAt           time.Time
}

const (
	periodsOf = `select account_id, period_start, period_end, plan, character_limit, characters, playground_characters,
		credit_granted, credit_carried, credit_left
		from read_v1.usage_periods where account_id = $1 order by period_start`
	daysOf = `select day, api_characters, playground_characters from read_v1.daily_usage
		where account_id = $1 order by day`
	reservationsOf = `select reservation_id, stream, account_id, characters, expires_at
		from read_v1.open_reservations where account_id = $1 order by expires_at, reservation_id`
)

// history decides commands on one period.
type history struct {
	ledger.State
	events []any
}

func (h *history) do(command interface {
	Decide(ledger.State) ([]ledger.Event, error)
}) {
	decided, _ := command.Decide(h.State)
	for _, event := range decided {
		h.State = ledger.Evolve(h.State, event)
		h.events = append(h.events, event)
	}
}

// expire ends the reservations that have expired at a time.
func (h *history) expire(at time.Time) {
	seen := map[string]time.Duration{}
	for _, r := range h.Open {
		seen[r.ID] = r.At.Sub(now)
	}
	h.do(ledger.Expire{Seen: seen, Now: at.Sub(now), At: at})
}

// used returns the characters that events settled by session, and the characters of each day.
func used(events []any) (playground int64, days []dayRow) {
	byDay := map[time.Time]dayRow{}
	for _, event := range events {
		e, is := event.(ledger.Settled)
		if !is || e.Characters == 0 {
			continue
		}
		date := e.At.Truncate(24 * time.Hour)
		day := byDay[date]
		day.Day = date
		if e.Source == ledger.Playground {
			playground, day.Playground = playground+e.Characters, day.Playground+e.Characters
		} else {
			day.API += e.Characters
		}
		byDay[date] = day
	}
	days = slices.AppendSeq([]dayRow{}, maps.Values(byDay))
	slices.SortFunc(days, func(a, b dayRow) int { return a.Day.Compare(b.Day) })
	return playground, days
}

// take returns the events since the last call.
func (h *history) take() []any {
	taken := h.events
	h.events = nil
	return taken
}

func openPeriod(id string, t plan.Type, start time.Time) ledger.OpenPeriod {
	terms, _ := plan.Lookup(t)
	begin, end := plan.MonthlyPeriod(start, start)
	return ledger.OpenPeriod{Account: id, Plan: terms, Start: begin, End: end}
}

func TestUsageRows(t *testing.T) {
	w := suite.World(t)
	expires := now.Add(10 * time.Minute)
	var free, next history
	free.do(openPeriod("u1", plan.Free, now))
	for _, id := range []string{"settled", "expired", "open"} {
		free.do(ledger.Reserve{Reservation: id, Characters: 100, At: now, ExpiresAt: expires})
	}
	free.do(ledger.Settle{Reservation: "settled", Characters: 60, At: now})
	free.events = append(free.events, ledger.Expired{Account: "u1", Reservation: "expired", At: expires})
	w.Write(t, "usage-u1-1", free.events...)
	next.do(openPeriod("u1", plan.Enterprise, now.AddDate(0, 1, 0)))
	w.Write(t, "usage-u1-2", next.events...)

	limit := int64(15_000)
	require.Equal(t, []periodRow{
		{"u1", now, now.AddDate(0, 1, 0), "free", &limit, 60, 0, 0, 0, 0},
		{"u1", now.AddDate(0, 1, 0), now.AddDate(0, 2, 0), "enterprise", nil, 0, 0, 0, 0, 0},
	}, feedtest.Rows[periodRow](t, w, periodsOf, "u1"))
	require.Equal(t, []reservationRow{{"open", "usage-u1-1", "u1", 100, expires}},
		feedtest.Rows[reservationRow](t, w, reservationsOf, "u1"))
}

// Usage by key and by session is counted separately, in the period and on the day (UTC) of the settlement. Both spend
// credit.
func TestUsageBySource(t *testing.T) {
	w := suite.World(t)
	late := time.Date(2026, 3, 11, 23, 59, 59, 0, time.FixedZone("west", -3600)) // the 12th
	var h history
	use := func(id string, characters int64, source ledger.Source, at time.Time) {
		h.do(ledger.Reserve{Reservation: id, Characters: 20_000, Source: source, At: at, ExpiresAt: at.Add(time.Minute)})
		h.do(ledger.Settle{Reservation: id, Characters: characters, At: at})
	}
	h.do(openPeriod("u4", plan.Indie, now))
	h.do(ledger.Grant{Grant: "g", Characters: 50_000, At: now})
	use("key", 60, ledger.API, now)
	use("session", 7, ledger.Playground, now)
	revision := w.Append(t, "usage-u4-1", eventlog.NoStream, h.take()...)
	use("again", 40, ledger.API, now)
	use("nothing", 0, ledger.Playground, now.AddDate(0, 0, 1))
	use("next day", 3, ledger.Playground, late)
	for i := range 11 {
		use(fmt.Sprint("more", i), 20_000, ledger.Playground, late)
	}
	w.Append(t, "usage-u4-1", revision, h.take()...)

	limit := int64(200_000)
	require.Equal(t, []periodRow{{"u4", now, now.AddDate(0, 1, 0), "indie", &limit, 100, 220_010, 50_000, 0, 29_890}},
		feedtest.Rows[periodRow](t, w, periodsOf, "u4"))
	require.Equal(t, []dayRow{
		{time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC), 100, 7},
		{time.Date(2026, 3, 12, 0, 0, 0, 0, time.UTC), 0, 220_003},
	}, feedtest.Rows[dayRow](t, w, daysOf, "u4"))
}

// The usage of a closed account counts in the period of the next account, and on none of its days.
func TestBroughtInUse(t *testing.T) {
	w := suite.World(t)
	terms, _ := plan.Lookup(plan.Free)
	begin, end := plan.MonthlyPeriod(now, now)
	var h history
	h.do(ledger.OpenPeriod{Account: "u5", Plan: terms, Start: begin, End: end, BroughtIn: 9_000})
	w.Write(t, "usage-u5-1", h.take()...)
	limit := int64(15_000)
	require.Equal(t, []periodRow{{"u5", begin, end, "free", &limit, 9_000, 0, 0, 0, 0}},
		feedtest.Rows[periodRow](t, w, periodsOf, "u5"))
	require.Empty(t, feedtest.Rows[dayRow](t, w, daysOf, "u5"))
}

// Clocks count nanoseconds and Postgres microseconds. A settlement still finds its period.
func TestAPeriodThatStartsBetweenMicroseconds(t *testing.T) {
	w := suite.World(t)
	for i, nanoseconds := range []time.Duration{1, 499, 500, 999} {
		id := fmt.Sprint("n", i)
		start := now.Add(nanoseconds)
		var h history
		h.do(openPeriod(id, plan.Free, start))
		h.do(ledger.Reserve{Reservation: id, Characters: 9, At: start, ExpiresAt: start.Add(time.Minute)})
		h.do(ledger.Settle{Reservation: id, Characters: 9, At: start})
		w.Write(t, "usage-"+id, h.events...)
		found := feedtest.Rows[periodRow](t, w, periodsOf, id)
		require.Len(t, found, 1)
		require.EqualValues(t, 9, found[0].Characters)
		require.False(t, found[0].Start.After(start), "the period includes its first moment")
	}
}

// After any events of a period, its rows are the fold of the events. A snapshot does not change them.
func TestUsageRowsEqualTheFold(t *testing.T) {
	w := suite.World(t)
	rapid.Check(t, func(r *rapid.T) {
		id := uuid.NewString()
		stream := fmt.Sprintf("usage-%s-%d", id, now.Unix())
		var h history
		opening := openPeriod(id, rapid.SampledFrom(plan.All()).Draw(r, "plan").Type, now)
		opening.BroughtIn = rapid.Int64Range(0, 3_000).Draw(r, "brought in")
		h.do(opening)
		at := now
		for i := range rapid.IntRange(0, 40).Draw(r, "commands") {
			at = at.Add(time.Duration(rapid.IntRange(0, 200).Draw(r, "seconds")) * time.Second)
			n := rapid.Int64Range(0, 9_000).Draw(r, "characters")
			which := fmt.Sprint(id, rapid.IntRange(0, max(1, i)).Draw(r, "reservation"))
			switch rapid.IntRange(0, 5).Draw(r, "command") {
			case 0, 1:
				source := rapid.SampledFrom([]ledger.Source{ledger.API, ledger.Playground}).Draw(r, "source")
				expires := at.Add(10 * time.Minute)
				h.do(ledger.Reserve{Reservation: fmt.Sprint(id, i), Characters: n, Source: source, At: at, ExpiresAt: expires})
			case 2:
				h.do(ledger.Settle{Reservation: which, Characters: n, At: at})
			case 3:
				h.expire(at)
			case 4:
				h.SinceSnapshot = ledger.SnapshotEvery
				h.do(takeSnapshot{at})
			case 5:
				h.do(ledger.Grant{Grant: fmt.Sprint(i), Characters: n + 1, At: at})
			}
		}
		events := h.take()
		w.Write(r, stream, events...)

		playground, days := used(events)
		want := periodRow{
			id, h.Terms.Start, h.Terms.End, string(h.Terms.Plan), h.Terms.Limit,
			h.Settled - playground, playground, h.Credit, 0, h.CreditLeft(),
		}
		require.Equal(r, []periodRow{want}, feedtest.Rows[periodRow](r, w, periodsOf, id))
		require.Equal(r, days, feedtest.Rows[dayRow](r, w, daysOf, id))
		var open []reservationRow
		for _, o := range h.Open {
			open = append(open, reservationRow{o.ID, stream, id, o.Characters, o.ExpiresAt})
		}
		require.ElementsMatch(r, open, feedtest.Rows[reservationRow](r, w, reservationsOf, id))
	})
}

// takeSnapshot takes a snapshot if one is due.
type takeSnapshot struct{ at time.Time }

func (c takeSnapshot) Decide(s ledger.State) ([]ledger.Event, error) { return s.Snapshot(c.at), nil }
