package ledger

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	accountsevents "github.com/recital-tts/recital/commands/accounts"
	billingevents "github.com/recital-tts/recital/commands/billing"
	ledgerevents "github.com/recital-tts/recital/commands/ledger"
	voicesevents "github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/projections/accounts"
	ledgers "github.com/recital-tts/recital/projections/ledger"
)

func TestMain(m *testing.M) { webtest.Main(m) }

// world is a log with read models, and a server of the API over them.
type world struct {
	*feedtest.World
	url string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	registry := feedtest.Registry(t, accountsevents.Events(), billingevents.Events(), ledgerevents.Events(),
		voicesevents.Events())
	w := feedtest.New(t, registry, slices.Concat(accounts.ReadModels(), ledgers.ReadModels())...)
	api := API{Models: w.Projector, Now: time.Now}
	return &world{World: w, url: webtest.Serve(t, web.Config{Routes: api.Routes(), Authenticator: webtest.Keys{}})}
}

// get decodes a reply into list, and returns its status.
func (w *world) get(t *testing.T, route, key string, list any) int {
	t.Helper()
	response, body := webtest.Send(t, http.MethodGet, w.url+route, "", "x-api-key", key)
	if response.StatusCode == http.StatusOK {
		require.NotEmpty(t, response.Header.Get("x-recital-position"))
		require.NotEqual(t, "null", body)
		require.NoError(t, json.Unmarshal([]byte(body), list), "%s", body)
	}
	return response.StatusCode
}

func (w *world) periods(t *testing.T, key string) (list []usageHistoryItem) {
	t.Helper()
	require.Equal(t, 200, w.get(t, "/v1/account/billing_history", key, &list))
	return list
}

func (w *world) days(t *testing.T, key string) (list []dailyUsageHistoryItem) {
	t.Helper()
	require.Equal(t, 200, w.get(t, "/v1/account/daily_usage_history", key, &list))
	return list
}

// use writes a period with its usage by key and by session.
func (w *world) use(t *testing.T, id string, begin, end time.Time, at []time.Time, characters ...int64) {
	t.Helper()
	limit := int64(15_000)
	events := []any{ledger.PeriodOpened{Account: id, Plan: plan.Free, Limit: &limit, Start: begin, End: end}}
	for i, n := range characters {
		reservation, source := fmt.Sprint(begin.Unix(), i), []ledger.Source{ledger.API, ledger.Playground}[i%2]
		events = append(events,
			ledger.Reserved{Account: id, Reservation: reservation, Characters: n, Source: source, At: at[i], ExpiresAt: end},
			ledger.Settled{Account: id, Reservation: reservation, Characters: n, Source: source, Start: begin, At: at[i]})
	}
	w.Write(t, fmt.Sprintf("usage-%s-%d", id, begin.Unix()), events...)
}

func TestEveryPeriodIsInTheHistory(t *testing.T) {
	// given an account with usage in its second period, a little in the current one, and none in the others
	w := newWorld(t)
	now := time.Now().UTC()
	from := now.AddDate(0, -5, -3)
	w.Write(t, "account-a1", account.Opened{Account: "a1", Plan: plan.Free, At: from})
	var begins, ends []time.Time
	for at := from; at.Before(now); at = ends[len(ends)-1] {
		begin, end := plan.MonthlyPeriod(from, at)
		begins, ends = append(begins, begin), append(ends, end)
	}
	last := len(begins) - 1
	require.GreaterOrEqual(t, last, 4)
	w.use(t, "a1", begins[1], ends[1], []time.Time{begins[1], begins[1], begins[1]}, 700, 30, 7)
	w.use(t, "a1", begins[last], ends[last], []time.Time{now, now}, 0, 9)

	// when its history is read, then each period is there, the current one first, with keys and sessions apart
	var want []usageHistoryItem
	for i := last; i >= 0; i-- {
		item := usageHistoryItem{Plan: "free", PeriodEnd: ends[i].Unix()}
		switch i {
		case 1:
			item.CharsUsed, item.PlaygroundCharsUsed = 707, 30
		case last:
			item.PlaygroundCharsUsed = 9
		}
		want = append(want, item)
	}
	require.Equal(t, want, w.periods(t, "a1"))

	// and so is the history of a new account, and of an unknown one
	w.Write(t, "account-a2", account.Opened{Account: "a2", Plan: plan.Enterprise, At: now})
	_, end := plan.MonthlyPeriod(now, now)
	require.Equal(t, []usageHistoryItem{{Plan: "enterprise", PeriodEnd: end.Unix()}}, w.periods(t, "a2"))
	require.Equal(t, 404, w.get(t, "/v1/account/billing_history", "nobody", nil))
	require.Equal(t, 401, w.get(t, "/v1/account/billing_history", "", nil))
}

// The usage that a closed account brought along is in the history before any other usage, and once.
func TestWhatAClosedAccountHasUsedIsInTheHistory(t *testing.T) {
	w := newWorld(t)
	now := time.Now().UTC()
	begin, end := plan.MonthlyPeriod(now.AddDate(0, 0, -9), now)
	left := &account.FreePeriod{Start: begin, End: end, Used: 14_000}
	w.Write(t, "account-a1", account.Opened{Account: "a1", Plan: plan.Free, Identity: "i1", FreePeriod: left, At: now})
	require.Equal(t, []usageHistoryItem{{Plan: "free", PeriodEnd: end.Unix(), CharsUsed: 14_000}}, w.periods(t, "a1"))

	w.Write(t, "usage-a1-1", ledger.PeriodOpened{Account: "a1", Plan: plan.Free, Start: begin, End: end},
		ledger.BroughtIn{Account: "a1", Characters: 14_000, Start: begin})
	require.Equal(t, []usageHistoryItem{{Plan: "free", PeriodEnd: end.Unix(), CharsUsed: 14_000}}, w.periods(t, "a1"))
	require.Empty(t, w.days(t, "a1"))
}

func TestTheHistoryOfDays(t *testing.T) {
	w := newWorld(t)
	today := time.Now().UTC().Truncate(24 * time.Hour)
	require.Empty(t, w.days(t, "a1"))

	// given usage on days at and beyond the ends of the history, some of it by session
	first, before := today.AddDate(0, 0, -365), today.AddDate(0, 0, -366)
	w.use(t, "a1", before.AddDate(0, 0, -1), today,
		[]time.Time{before, before.Add(24*time.Hour - 1), first, first, today.Add(-1), today, today}, 5, 5, 100, 20, 3, 0, 0)
	w.use(t, "a2", first, today, []time.Time{first}, 8)

	// then the days with usage are there, earliest first
	require.Equal(t, []dailyUsageHistoryItem{
		{100, 20, first.Format(time.DateOnly)},
		{3, 0, today.AddDate(0, 0, -1).Format(time.DateOnly)},
	}, w.days(t, "a1"))

	// and the usage of a day adds up in one row, from page to page
	start := before.AddDate(0, 0, -1)
	stream := fmt.Sprintf("usage-a1-%d", start.Unix())
	for i := range 3 {
		id := fmt.Sprint("more", i)
		w.Append(t, stream, eventlog.Revision(14+2*i),
			ledger.Reserved{Account: "a1", Reservation: id, Characters: 10, Source: ledger.API, At: today, ExpiresAt: today},
			ledger.Settled{Account: "a1", Reservation: id, Characters: 10, Source: ledger.API, Start: start, At: today})
	}
	require.Equal(t, dailyUsageHistoryItem{30, 0, today.Format(time.DateOnly)}, w.days(t, "a1")[2])
	require.Equal(t, 401, w.get(t, "/v1/account/daily_usage_history", "", nil))
}

func TestWhatEachKeyHasUsed(t *testing.T) {
	w := newWorld(t)
	today := time.Now().UTC().Truncate(24 * time.Hour)
	keys := func(query string) (list []keyUsageItem) {
		require.Equal(t, 200, w.get(t, "/v1/account/key_usage"+query, "a1", &list))
		return list
	}
	require.Empty(t, keys(""))

	// given usage by keys and in a browser, on several days
	start, last := today.AddDate(0, 0, -400), eventlog.NoStream
	settle := func(id, key string, day time.Time, characters int64) {
		last = w.AppendOf(t, eventlog.Actor{Kind: eventlog.ActorAccount, Account: "a1", Key: key},
			fmt.Sprintf("usage-a1-%d", start.Unix()), last,
			ledger.Reserved{Account: "a1", Reservation: id, Characters: 1000, At: day, ExpiresAt: day},
			ledger.Settled{Account: "a1", Reservation: id, Characters: characters, Start: start, At: day})
	}
	settle("1", "rk_…one", today.AddDate(0, 0, -30), 900)
	settle("2", "rk_…one", today.AddDate(0, 0, -29), 5)
	settle("3", "rk_…two", today.AddDate(0, 0, -1), 3)
	settle("4", "rk_…two", today.Add(24*time.Hour-1), 4)
	settle("5", "", today, 70)
	settle("6", "rk_…idle", today, 0)

	// then each key has a sum for the requested number of days, highest first
	two := keyUsageItem{"rk_…two", 7, today.Format(time.DateOnly)}
	require.Equal(t, []keyUsageItem{two, {"rk_…one", 5, today.AddDate(0, 0, -29).Format(time.DateOnly)}}, keys(""))
	require.Equal(t, []keyUsageItem{{"rk_…one", 905, today.AddDate(0, 0, -29).Format(time.DateOnly)}, two},
		keys("?days=31"))
	require.Equal(t, []keyUsageItem{{"rk_…two", 4, two.LastDay}}, keys("?days=1"))
	for _, days := range []string{"0", "367", "x"} {
		require.Equal(t, 422, w.get(t, "/v1/account/key_usage?days="+days, "a1", nil))
	}
	require.Equal(t, 401, w.get(t, "/v1/account/key_usage", "", nil))
	var others []keyUsageItem
	require.Equal(t, 200, w.get(t, "/v1/account/key_usage", "a2", &others))
	require.Empty(t, others)
}
