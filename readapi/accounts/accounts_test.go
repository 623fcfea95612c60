package accounts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	accountsevents "github.com/recital-tts/recital/commands/accounts"
	billingevents "github.com/recital-tts/recital/commands/billing"
	ledgerevents "github.com/recital-tts/recital/commands/ledger"
	voicesevents "github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/projections/accounts"
	ledgers "github.com/recital-tts/recital/projections/ledger"
	"github.com/recital-tts/recital/projections/voices"
)

func TestMain(m *testing.M) { webtest.Main(m) }

// world is a log with read models, and the API over them.
type world struct {
	*feedtest.World
	keys keyring.Keyring
	api  *API
}

func newWorld(t testing.TB) *world {
	t.Helper()
	registry := feedtest.Registry(t, accountsevents.Events(), billingevents.Events(), ledgerevents.Events(),
		voicesevents.Events())
	w := feedtest.New(t, registry, slices.Concat(accounts.ReadModels(), ledgers.ReadModels(), voices.ReadModels())...)
	keys, err := pgkeys.New(pgkeys.Config{Pool: w.Pool,
		MasterKey: bytes.Repeat([]byte{1}, pgkeys.MasterKeySize), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return &world{World: w, keys: keys, api: &API{Models: w.Projector, Keys: keys, Now: time.Now}}
}

func (w *world) readAccount(id string, now time.Time) (accountResponse, error) {
	found, _, err := accountQuery.Select(context.Background(), w.Projector, id, now)
	if err != nil {
		return accountResponse{}, err
	}
	return w.api.show(context.Background(), viewOf(found), now)
}

func opened(id string, t plan.Type, at time.Time) account.Opened {
	return account.Opened{Account: id, Plan: t, At: at}
}

// get sends a request to a real server.
func (a *API) get(t testing.TB, key string) (int, map[string]any) {
	t.Helper()
	url := webtest.Serve(t, web.Config{Routes: a.Routes(), Authenticator: webtest.Keys{}})
	response, body := webtest.Send(t, http.MethodGet, url+"/v1/account", "", "x-api-key", key)
	var value map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &value), "%s", body)
	return response.StatusCode, value
}

func TestGetAccount(t *testing.T) {
	// given an account with two keys and some usage in the current period
	w := newWorld(t)
	at := time.Now().UTC().Truncate(time.Second).Add(-time.Hour)
	laptop, err := w.keys.Seal(t.Context(), "a1", []byte("laptop <1>"), account.ForKeyName("h2"))
	require.NoError(t, err)
	w.Write(t, "account-a1", opened("a1", plan.Free, at),
		account.APIKeyCreated{Account: "a1", Hash: "h1", Masked: "rk_aaaa****1111", At: at},
		account.APIKeyCreated{Account: "a1", Hash: "h2", Masked: "rk_bbbb****2222", SealedName: laptop,
			At: at.Add(time.Second)},
		account.APIKeyCreated{Account: "a1", Hash: "h3", Masked: "rk_cccc****3333", At: at.Add(time.Second)})
	begin, end := plan.MonthlyPeriod(at, time.Now())
	limit := int64(15_000)
	w.Write(t, fmt.Sprintf("usage-a1-%d", begin.Unix()),
		ledger.PeriodOpened{Account: "a1", Plan: plan.Free, Limit: &limit, Start: begin, End: end},
		ledger.Reserved{Account: "a1", Reservation: "r1", Characters: 100, At: at, ExpiresAt: end},
		ledger.Settled{Account: "a1", Reservation: "r1", Characters: 60, Start: begin, At: at},
		ledger.Reserved{Account: "a1", Reservation: "r2", Characters: 500, At: at, ExpiresAt: end})
	w.Write(t, "account-a2", opened("a2", plan.Enterprise, at), account.TermsAccepted{Account: "a2", At: at},
		account.EmailPreferencesSet{Account: "a2", WantsEmail: true, At: at})

	// then the reply is as documented, without open reservations
	status, got := w.api.get(t, "a1")
	require.Equal(t, http.StatusOK, status)
	unix := func(at time.Time) float64 { return float64(at.Unix()) }
	require.Equal(t, map[string]any{
		"plan": map[string]any{"type": "free", "commercial_use_allowed": false, "character_limit": 15_000.0},
		"usage": map[string]any{
			"characters": 60.0, "playground_characters": 0.0, "credit_characters": 0.0,
			"instant_voices": 0.0, "professional_voices": 0.0, "period_end": unix(end),
		},
		"apikeys": []any{
			map[string]any{"masked": "rk_aaaa****1111", "name": nil, "created_at": unix(at)},
			map[string]any{"masked": "rk_bbbb****2222", "name": "laptop <1>", "created_at": unix(at.Add(time.Second))},
			map[string]any{"masked": "rk_cccc****3333", "name": nil, "created_at": unix(at.Add(time.Second))},
		},
		"accepted_tos": false, "wants_email": nil, "sub_state": nil, "cancel_at_period_end": false,
	}, got)

	// and so it is for an account without limit, keys or usage
	status, got = w.api.get(t, "a2")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, map[string]any{"type": "enterprise", "commercial_use_allowed": true, "character_limit": nil},
		got["plan"])
	require.Equal(t, []any{}, got["apikeys"])
	require.Equal(t, true, got["accepted_tos"])
	require.Equal(t, true, got["wants_email"])
	require.Equal(t, 0.0, got["usage"].(map[string]any)["characters"])
	require.Equal(t, unix(end), got["usage"].(map[string]any)["period_end"])

	status, _ = w.api.get(t, "a3")
	require.Equal(t, http.StatusNotFound, status)
	status, _ = w.api.get(t, "")
	require.Equal(t, http.StatusUnauthorized, status)
}

// A name is null if its key is gone.
func TestNamesOfAPIKeys(t *testing.T) {
	w := newWorld(t)
	at := time.Now().UTC().Add(-time.Hour)
	sealed, err := w.keys.Seal(t.Context(), "a1", []byte("Ada's laptop"), account.ForKeyName("h2"))
	require.NoError(t, err)
	w.Write(t, "account-a1", opened("a1", plan.Free, at),
		account.APIKeyCreated{Account: "a1", Hash: "h1", Masked: "rk_aaaa****1111", At: at},
		account.APIKeyCreated{Account: "a1", Hash: "h2", Masked: "rk_bbbb****2222", SealedName: sealed,
			At: at.Add(time.Second)},
		account.APIKeyCreated{Account: "a1", Hash: "h3", Masked: "rk_cccc****3333", SealedName: sealed,
			At: at.Add(2 * time.Second)})
	names := func() (names []any) {
		status, got := w.api.get(t, "a1")
		require.Equal(t, http.StatusOK, status)
		for _, key := range got["apikeys"].([]any) {
			names = append(names, key.(map[string]any)["name"])
		}
		return names
	}
	require.Equal(t, []any{nil, "Ada's laptop", nil}, names(), "the last one was sealed for another key")
	require.NoError(t, w.keys.Erase(t.Context(), "a1"))
	require.Equal(t, []any{nil, nil, nil}, names())
}

func TestOnlyThePeriodOfNowCounts(t *testing.T) {
	w := newWorld(t)
	at := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	w.Write(t, "account-a1", opened("a1", plan.Pro, at))
	for month := range 3 {
		begin, end := plan.MonthlyPeriod(at, at.AddDate(0, 0, 31*month))
		id := fmt.Sprint(month)
		w.Write(t, "usage-a1-"+id,
			ledger.PeriodOpened{Account: "a1", Plan: plan.Pro, Start: begin, End: end},
			ledger.Reserved{Account: "a1", Reservation: id, Characters: 10, At: begin, ExpiresAt: end},
			ledger.Settled{Account: "a1", Reservation: id, Characters: int64(month + 1), Start: begin, At: begin})
	}
	for _, c := range []struct {
		now        string
		characters int64
		end        string
	}{
		{"2026-01-31T10:00:00Z", 1, "2026-02-28T10:00:00Z"},
		{"2026-02-28T09:59:59Z", 1, "2026-02-28T10:00:00Z"},
		{"2026-02-28T10:00:00Z", 2, "2026-03-31T10:00:00Z"},
		{"2026-03-31T10:00:00Z", 3, "2026-04-30T10:00:00Z"},
		{"2026-04-30T10:00:00Z", 0, "2026-05-31T10:00:00Z"}, // not opened yet
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		require.NoError(t, err)
		end, err := time.Parse(time.RFC3339, c.end)
		require.NoError(t, err)
		got, err := w.readAccount("a1", now)
		require.NoError(t, err)
		require.Equal(t, c.characters, got.Usage.Characters, c.now)
		require.Equal(t, end.Unix(), *got.Usage.PeriodEnd, c.now)
	}
}

func TestWhatAClosedAccountUsedOfItsPeriodIsNotNew(t *testing.T) {
	// given an account of a person whose closed account had begun a free period
	w := newWorld(t)
	begin := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	_, end := plan.MonthlyPeriod(begin, begin)
	at := begin.AddDate(0, 0, 10)
	left := &account.FreePeriod{Start: begin, End: end, Used: 14_000}
	w.Write(t, "account-a1", account.Opened{Account: "a1", Plan: plan.Free, Identity: "i1", FreePeriod: left, At: at})
	shown := func(now time.Time) (characters, end int64) {
		t.Helper()
		got, err := w.readAccount("a1", now)
		require.NoError(t, err)
		return got.Usage.Characters, *got.Usage.PeriodEnd
	}

	// then the earlier usage is shown before any other, and not in the next period
	characters, until := shown(at)
	require.EqualValues(t, 14_000, characters)
	require.Equal(t, end.Unix(), until)
	_, next := plan.MonthlyPeriod(begin, end)
	characters, until = shown(end)
	require.Zero(t, characters)
	require.Equal(t, next.Unix(), until, "periods count from the first one's start")

	// and new usage is added to the period's row
	limit := int64(15_000)
	w.Write(t, "usage-a1-1",
		ledger.PeriodOpened{Account: "a1", Plan: plan.Free, Limit: &limit, Start: begin, End: end},
		ledger.Reserved{Account: "a1", Reservation: "r1", Characters: 10, At: at, ExpiresAt: end},
		ledger.Settled{Account: "a1", Reservation: "r1", Characters: 10, Start: begin, At: at})
	characters, _ = shown(at)
	require.EqualValues(t, 10, characters, "the period's row has what was brought in")
}

func TestCreditThatIsLeft(t *testing.T) {
	w := newWorld(t)
	now := time.Now().UTC()
	at := now.Add(-40 * 24 * time.Hour)
	before, start := plan.MonthlyPeriod(at, at)
	_, end := plan.MonthlyPeriod(at, now)
	limit := int64(15_000)
	w.Write(t, "account-a1", opened("a1", plan.Free, at))
	shown := func() int64 {
		got, err := w.readAccount("a1", now)
		require.NoError(t, err)
		return got.Usage.CreditCharacters
	}
	use := func(id string, start, end time.Time, characters int64) []any {
		return []any{
			ledger.Reserved{Account: "a1", Reservation: id, Characters: characters, At: start, ExpiresAt: end},
			ledger.Settled{Account: "a1", Reservation: id, Characters: characters, Start: start, At: start},
		}
	}
	require.Zero(t, shown())

	// given credit in a period that is over, then it is shown before its transfer to the current period
	w.Write(t, "usage-a1-1",
		append([]any{
			ledger.PeriodOpened{Account: "a1", Plan: plan.Free, Limit: &limit, Start: before, End: start},
			ledger.CreditGranted{Account: "a1", Grant: "g", Characters: 500, Start: before, End: start, At: before},
		}, use("r1", before, start, 15_100)...)...)
	require.EqualValues(t, 400, shown())
	w.Append(t, "usage-a1-1", 3, ledger.CreditCarried{Account: "a1", Characters: 400, Start: before, To: start, At: start})
	require.EqualValues(t, 400, shown())

	// and afterwards, and it falls once the plan is used up
	w.Write(t, "usage-a1-2",
		ledger.PeriodOpened{Account: "a1", Plan: plan.Free, Limit: &limit, Start: start, End: end},
		ledger.CreditGranted{Account: "a1", Grant: "c", Characters: 400, Start: start, End: end, From: &before, At: start})
	require.EqualValues(t, 400, shown())
	w.Append(t, "usage-a1-2", 1, use("r2", start, end, 15_000)...)
	require.EqualValues(t, 400, shown())
	w.Append(t, "usage-a1-2", 3, use("r3", start, end, 30)...)
	require.EqualValues(t, 370, shown())
	w.Append(t, "usage-a1-2", 5, use("r4", start, end, 370)...)
	require.Zero(t, shown())
	got, err := w.readAccount("a1", now)
	require.NoError(t, err)
	require.EqualValues(t, 15_400, got.Usage.Characters, "all that was used in the period")
}

// The query computes the end of a period that is not opened yet as the domain does.
func TestThePeriodsEndIsTheDomains(t *testing.T) {
	w := newWorld(t)
	rapid.Check(t, func(r *rapid.T) {
		at := anyTime(r, "opened")
		if rapid.Bool().Draw(r, "at the end of a month") {
			at = time.Date(at.Year(), at.Month()+1, 1, at.Hour(), at.Minute(), 0, 0, time.UTC).AddDate(0, 0,
				-rapid.IntRange(1, 3).Draw(r, "days before"))
		}
		id := uuid.NewString()
		w.Write(r, "account-"+id, opened(id, plan.Free, at))
		nows := []time.Time{at, at.AddDate(0, -5, 0), at.AddDate(0, 1, 0), at.AddDate(0, 1, -1), at.AddDate(1, 0, 0)}
		for range 10 {
			now := anyTime(r, "now")
			begin, end := plan.MonthlyPeriod(at, now)
			nows = append(nows, now, begin, begin.Add(-time.Microsecond), end) // the boundaries, too
		}
		for _, now := range nows {
			_, end := plan.MonthlyPeriod(at, now)
			got, err := w.readAccount(id, now)
			require.NoError(r, err)
			require.Equal(r, end.Unix(), *got.Usage.PeriodEnd, "opened %s, now %s", at, now)
		}
	})
}

func anyTime(r *rapid.T, label string) time.Time {
	first := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	last := time.Date(2034, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	return time.Unix(rapid.Int64Range(first, last).Draw(r, label), 0).UTC()
}

func TestWhatPostgresCannotDoNowMayBeAskedAgain(t *testing.T) {
	// given read models that Postgres refuses to read
	w := newWorld(t)
	exec := func(sql string) {
		_, err := w.Pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	url := webtest.Serve(t, web.Config{Routes: w.api.Routes(), Authenticator: webtest.Keys{}})
	for code, status := range map[string]int{
		"42501": http.StatusServiceUnavailable, // privileges were taken away
		"53100": http.StatusServiceUnavailable, // the disk is full
		"53200": http.StatusServiceUnavailable, // out of memory
		"53300": http.StatusServiceUnavailable, // too many connections
		"57014": http.StatusServiceUnavailable, // an operator cancelled the query
		"57P03": http.StatusServiceUnavailable, // it starts
		"40P01": http.StatusServiceUnavailable, // a deadlock
		"22012": http.StatusInternalServerError,
		"42703": http.StatusInternalServerError,
	} {
		exec(`create or replace function refuse() returns text language plpgsql as $$ begin raise sqlstate '` + code +
			`'; end $$`)
		exec(`create or replace view read_v1.accounts as select refuse() as account_id, now() as opened_at, 'free'
			as opened_on, now() as periods_from,
			'free' as plan, now() as entitled_from, null::timestamptz as entitled_until, null::text as next_plan,
			null::timestamptz as anchor, 0::bigint as followed, false as subscribed,
			null::timestamptz as free_period_end, null::bigint as free_period_characters,
			false as accepted_tos, null::boolean as wants_email, false as operator,
			0::bigint as instant_voices, 0::bigint as professional_voices`)

		// when a client reads, then the reply tells whether a retry can help
		response, _ := webtest.Send(t, http.MethodGet, url+"/v1/account", "", "x-api-key", "a1")
		require.Equal(t, status, response.StatusCode, code)
		require.Equal(t, status == http.StatusServiceUnavailable, response.Header.Get("Retry-After") != "", code)
	}
}

func TestWithoutReadModelsAccountsAreUnavailable(t *testing.T) {
	w := newWorld(t)
	_, err := w.Pool.Exec(t.Context(), `alter schema read_v1 rename to away`)
	require.NoError(t, err)
	status, got := w.api.get(t, "a1")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.NotContains(t, fmt.Sprint(got), "read_v")
	_, err = w.readAccount("a1", time.Now())
	require.Equal(t, domain.Unavailable, domain.CodeOf(err))
}

func TestVoicesCountWhileTheyTakePlacesOfThePlan(t *testing.T) {
	w := newWorld(t)
	at := time.Now().UTC().Add(-time.Hour)
	w.Write(t, "account-a1", opened("a1", plan.Indie, at))
	w.Write(t, "account-a2", opened("a2", plan.Indie, at))
	counts := func(id string) []any {
		_, got := w.api.get(t, id)
		usage := got["usage"].(map[string]any)
		return []any{usage["instant_voices"], usage["professional_voices"]}
	}
	take := func(id string, of voice.Type) roster.PlaceTaken {
		return roster.PlaceTaken{Account: "a1", Voice: id, Type: of, At: at}
	}
	require.Equal(t, []any{0.0, 0.0}, counts("a1"))
	w.Write(t, roster.Stream("a1"), take("1", voice.Instant), take("2", voice.Instant), take("3", voice.Professional))
	require.Equal(t, []any{2.0, 1.0}, counts("a1"))
	w.Append(t, roster.Stream("a1"), 2, roster.PlaceFreed{Account: "a1", Voice: "1", Type: voice.Instant, At: at})
	require.Equal(t, []any{1.0, 1.0}, counts("a1"))
	require.Equal(t, []any{0.0, 0.0}, counts("a2"))
}
