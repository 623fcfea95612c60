package feed

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/feed/table"
)

// The tests' own domain: counters that are opened, raised, renamed and closed.
type (
	counterOpened struct {
		ID    string
		Label string
	}
	counterRaised struct {
		ID string
		By int64
	}
	counterRenamed struct {
		ID    string
		Label string
	}
	counterClosed struct{ ID string }
)

func eventTypes() []eventlog.Type {
	return []eventlog.Type{
		eventlog.LogOpenedType(),
		eventlog.Define[counterOpened]("counter-opened", 1),
		eventlog.Define[counterRaised]("counter-raised", 1),
		eventlog.Define[counterRenamed]("counter-renamed", 1),
		eventlog.Define[counterClosed]("counter-closed", 1),
	}
}

func registry(t testing.TB) *eventlog.Registry {
	t.Helper()
	r, err := eventlog.NewRegistry(eventTypes()...)
	require.NoError(t, err)
	return r
}

// counter is a row of the counters' read model.
type counter struct {
	ID, Label string
	Sum       int64
}

var errPoison = errors.New("the test's handler refuses this event")

// poisonous refuses counters that are opened with this label.
const poisonous = "poison"

// counters is a projection with every kind of row operation.
func counters(name string) Projection {
	list := table.New("counters",
		table.Column{Name: "id", Type: table.Text, Key: true},
		table.Column{Name: "label", Type: table.Text},
		table.Column{Name: "sum", Type: table.Bigint},
		table.Column{Name: "opened", Type: table.Timestamptz},
	).Index("by_label", "label")
	return Projection{
		Name:    name,
		Version: 1,
		Tables:  []*table.Table{list},
		Views:   []View{{Name: name + "_list", Select: "select id, label, sum from counters"}},
		Handle: func(event eventlog.Decoded, rows *table.Rows) error {
			switch e := event.Event.(type) {
			case counterOpened:
				rows.Put(list, e.ID, e.Label, 0, event.Meta.Time)
			case counterRaised:
				rows.Add(list, table.Key{e.ID}, "sum", e.By)
			case counterRenamed:
				rows.Set(list, table.Key{e.ID}, "label", e.Label)
			case counterClosed:
				rows.Delete(list, table.Key{e.ID})
			}
			return nil
		},
	}
}

// picky is counters, but stops at a counter that is opened as poisonous.
func picky(name string) Projection {
	p := counters(name)
	handle := p.Handle
	p.Handle = func(event eventlog.Decoded, rows *table.Rows) error {
		if opened, ok := event.Event.(counterOpened); ok && opened.Label == poisonous {
			return errPoison
		}
		return handle(event, rows)
	}
	return p
}

// folded is what the log says the counters are.
func folded(t testing.TB, log eventlog.Log, r *eventlog.Registry, upTo eventlog.Position) map[string]counter {
	t.Helper()
	all := map[string]counter{}
	for _, event := range read(t, log, upTo) {
		decoded, err := r.Decode(event)
		require.NoError(t, err)
		switch e := decoded.Event.(type) {
		case counterOpened:
			all[e.ID] = counter{ID: e.ID, Label: e.Label}
		case counterRaised:
			amend(all, e.ID, func(c *counter) { c.Sum += e.By })
		case counterRenamed:
			amend(all, e.ID, func(c *counter) { c.Label = e.Label })
		case counterClosed:
			delete(all, e.ID)
		}
	}
	return all
}

func amend(all map[string]counter, id string, do func(*counter)) {
	if c, ok := all[id]; ok {
		do(&c)
		all[id] = c
	}
}

// read gives the events of the log up to a position.
func read(t testing.TB, log eventlog.Log, upTo eventlog.Position) []eventlog.Recorded {
	t.Helper()
	if upTo == eventlog.Start() {
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var events []eventlog.Recorded
	subscription := log.Subscribe(ctx, eventlog.Start())
	for delivery := range subscription.Deliveries() {
		if delivery.Kind != eventlog.KindEvent {
			continue
		}
		if delivery.Event.Position.Compare(upTo) > 0 {
			break
		}
		events = append(events, delivery.Event)
		if delivery.Event.Position == upTo {
			break
		}
	}
	cancel()
	for range subscription.Deliveries() {
	}
	return events
}

// shown is what the read model's view says.
func shown(t testing.TB, pool *pgxpool.Pool, name string) map[string]counter {
	t.Helper()
	rows, err := pool.Query(t.Context(), fmt.Sprintf("select id, label, sum from read_v1.%s_list", name))
	require.NoError(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[counter])
	require.NoError(t, err)
	all := map[string]counter{}
	for _, c := range list {
		all[c.ID] = c
	}
	return all
}

// metadata is that of a test's events.
func metadata() eventlog.Metadata {
	return eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: time.Unix(1_790_000_000, 0)}
}
