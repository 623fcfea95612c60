package main_test

import (
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/skips"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
)

// books is a fold of the whole log, independent of recitald's own commands and projections.
type books struct {
	accounts map[string]account.State // by account
	periods  map[string]ledger.State  // by stream
	settled  map[string]int64         // characters, by reservation
	expired  map[string]bool          // by reservation

	playground map[string]int64 // characters used by session, by stream
	days       map[day]int64    // characters

	head eventlog.Position
}

// day is an account's usage from one source on a day (UTC).
type day struct {
	account, date string
	source        ledger.Source
}

// node returns the configuration of a client of the embedded node.
func (s *server) node() esdb.Config {
	return esdb.Config{Socket: filepath.Join(s.data, "eventnode", "node.sock")}
}

// readLog folds the log of a running recitald up to its current head.
func (s *server) readLog() books {
	s.t.Helper()
	return foldLog(s.t, s.node())
}

func foldLog(t *testing.T, config esdb.Config) books {
	t.Helper()
	b := books{
		accounts: map[string]account.State{}, periods: map[string]ledger.State{}, settled: map[string]int64{},
		expired:    map[string]bool{},
		playground: map[string]int64{}, days: map[day]int64{},
	}
	eachEvent(t, config, func(event eventlog.Decoded) {
		b.fold(event)
		b.head = event.Position
	})
	return b
}

// eachEvent calls a function with every event of a log up to its current head.
func eachEvent(t *testing.T, config esdb.Config, do func(eventlog.Decoded)) {
	t.Helper()
	config.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	registry, err := app.Registry()
	require.NoError(t, err)
	log, err := esdb.Open(config)
	require.NoError(t, err)
	defer log.Close()
	require.NoError(t, skips.Load(t.Context(), &journal.Journal{Log: log, Registry: registry}))

	subscription := log.Subscribe(t.Context(), eventlog.Start())
	for delivery := range subscription.Deliveries() {
		switch delivery.Kind {
		case eventlog.KindCaughtUp:
			return
		case eventlog.KindEvent:
			decoded, err := registry.Decode(delivery.Event)
			require.NoError(t, err)
			do(decoded)
		}
	}
	require.Fail(t, "the log cannot be read", subscription.Err())
}

func (b books) fold(event eventlog.Decoded) {
	switch e := event.Event.(type) {
	case account.Event:
		id := strings.TrimPrefix(event.Stream, "account-")
		b.accounts[id] = account.Evolve(b.accounts[id], e)
	case ledger.Event:
		b.periods[event.Stream] = ledger.Evolve(b.periods[event.Stream], e)
	}
	switch e := event.Event.(type) {
	case ledger.Settled:
		b.settled[e.Reservation] += e.Characters
		b.days[day{e.Account, e.At.UTC().Format(time.DateOnly), e.Source}] += e.Characters
		if e.Source == ledger.Playground {
			b.playground[event.Stream] += e.Characters
		}
	case ledger.Expired:
		b.expired[e.Reservation] = true
	}
}

// charactersOf returns the usage of an account, in all its periods.
func (b books) charactersOf(account string) (characters int64) {
	for _, period := range b.periods {
		if period.Terms.Account == account {
			characters += period.Settled
		}
	}
	return characters
}

// reservationsOf returns the number of reservations of an account that were neither settled nor expired.
func (b books) reservationsOf(account string) (open int) {
	for _, period := range b.periods {
		if period.Terms.Account == account {
			open += len(period.Open)
		}
	}
	return open
}

// openReservations returns the number of reservations that were neither settled nor expired.
func (b books) openReservations() (open int) {
	for _, period := range b.periods {
		open += len(period.Open)
	}
	return open
}

// rows returns the contents of the read models according to the log, as readable lines.
func (b books) rows() []string {
	var rows []string
	for id, state := range b.accounts {
		if state.Closed() {
			continue
		}
		rows = append(rows, fmt.Sprintf("account %s %s %d", id, state.Entitlement.Plan, state.OpenedAt.UnixMicro()))
		for _, key := range state.Keys {
			rows = append(rows, fmt.Sprintf("key %s %s %s", key.Hash, id, key.Masked))
		}
	}
	for stream, state := range b.periods {
		limit := "none"
		if state.Terms.Limit != nil {
			limit = fmt.Sprint(*state.Terms.Limit)
		}
		playground := b.playground[stream]
		rows = append(rows, fmt.Sprintf("period %s %d %d %s %s %d %d %d %d", state.Terms.Account,
			state.Terms.Start.UnixMicro(),
			state.Terms.End.UnixMicro(), state.Terms.Plan, limit, state.Settled-playground, playground, state.Credit,
			state.CreditLeft()))
		for _, r := range state.Open {
			rows = append(rows, fmt.Sprintf("reservation %s %s %s %d %d", r.ID, stream, state.Terms.Account, r.Characters,
				r.ExpiresAt.UnixMicro()))
		}
	}
	for d, characters := range b.days {
		if characters > 0 {
			rows = append(rows, fmt.Sprintf("day %s %s %s %d", d.account, d.date, d.source, characters))
		}
		if characters > 0 && d.source == ledger.API { // is of one key or another
			rows = append(rows, fmt.Sprintf("keys %s %s %d", d.account, d.date, characters))
		}
	}
	return rows
}

// viewRows selects the views in the format of rows. Extracted epochs are exact to the microsecond.
const viewRows = `
select format('account %s %s %s', account_id, plan, (extract(epoch from opened_at) * 1000000)::bigint)
from read_v1.accounts
union all
select format('key %s %s %s', key_hash, account_id, masked) from read_v1.api_keys
union all
select format('period %s %s %s %s %s %s %s %s %s', account_id, (extract(epoch from period_start) * 1000000)::bigint,
	(extract(epoch from period_end) * 1000000)::bigint, plan, coalesce(character_limit::text, 'none'), characters,
	playground_characters, credit_granted, credit_left) from read_v1.usage_periods
union all
select format('day %s %s %s %s', account_id, day, source, characters)
	from read_v1.daily_usage, lateral (values ('api', api_characters), ('playground', playground_characters))
	as used (source, characters)
	where characters > 0
union all
select format('keys %s %s %s', account_id, day, sum(characters)) from read_v1.key_usage group by account_id, day
union all
select format('reservation %s %s %s %s %s', reservation_id, stream, account_id, characters,
	(extract(epoch from expires_at) * 1000000)::bigint) from read_v1.open_reservations`

// readModels returns the current rows of the views.
func (s *server) readModels() ([]string, error) {
	connection, err := pgx.Connect(s.t.Context(), s.postgresURL())
	if err != nil {
		return nil, err
	}
	defer connection.Close(s.t.Context())
	rows, err := connection.Query(s.t.Context(), viewRows)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// requireSettledBooks waits until no reservation is open and the read models show it.
func (s *server) requireSettledBooks() books {
	s.t.Helper()
	s.eventually(func() bool { return s.readLog().openReservations() == 0 })
	return s.requireReadModelsFollowLog()
}

// requireReadModelsFollowLog waits until the read models equal a fold of the log, and returns the fold.
func (s *server) requireReadModelsFollowLog() (b books) {
	s.t.Helper()
	require.EventuallyWithT(s.t, func(c *assert.CollectT) {
		b = s.readLog()
		rows, err := s.readModels()
		require.NoError(c, err)
		require.ElementsMatch(c, b.rows(), rows)
	}, patience, 10*pause)
	return b
}

// requireAccountShows checks what the account's owner sees.
func (b books) requireAccountShows(t *testing.T, customers ...customer) {
	t.Helper()
	for _, c := range customers {
		require.Equal(t, b.charactersOf(c.id), c.usage(t), "GET /v1/account of %s", c.id)
	}
}

// openLog opens the log of a running recitald.
func (s *server) openLog() (*esdb.Client, *eventlog.Registry) {
	s.t.Helper()
	registry, err := app.Registry()
	require.NoError(s.t, err)
	log, err := esdb.Open(s.node())
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = log.Close() }) // its recitald may have ended
	return log, registry
}
