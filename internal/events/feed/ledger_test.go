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

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// The tests' domain are counters that are opened, raised, renamed and closed.
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
	return append(eventlog.In("counter-",
		eventlog.Define[counterOpened]("counter-opened", 1),
		eventlog.Define[counterRaised]("counter-raised", 1),
		eventlog.Define[counterRenamed]("counter-renamed", 1),
		eventlog.Define[counterClosed]("counter-closed", 1),
	), eventlog.LogOpenedType())
}

func registry(t testing.TB, more ...eventlog.Type) *eventlog.Registry {
	t.Helper()
	r, err := eventlog.NewRegistry(append(eventTypes(), more...)...)
	require.NoError(t, err)
	return r
}

// counter is a row of the counters' read model.
type counter struct {
	ID, Label string
	Sum       int64
}

var errPoison = errors.New("the test's handler refuses this event")

// poisonous is the label of counters that picky refuses.
const poisonous = "poison"

type counterRow struct {
	ID     string    `col:"id,key"`
	Label  string    `col:"label"`
	Sum    int64     `col:"sum"`
	Opened time.Time `col:"opened"`
}

// counterTable is the table of the counters.
type counterTable struct {
	table.Typed[counterRow]
	label, sum table.Fields[counterRow]
}

func newCounterTable() counterTable {
	t := table.Of[counterRow]("counters").Index("by_label", "label")
	return counterTable{Typed: t, label: t.Fields("label"), sum: t.Fields("sum")}
}

func (t counterTable) handle(event eventlog.Decoded, rows *table.Rows) error {
	switch e := event.Event.(type) {
	case counterOpened:
		t.Put(rows, counterRow{ID: e.ID, Label: e.Label, Opened: event.Meta.Time})
	case counterRaised:
		t.sum.Add(rows, counterRow{ID: e.ID, Sum: e.By})
	case counterRenamed:
		t.label.Set(rows, counterRow{ID: e.ID, Label: e.Label})
	case counterClosed:
		t.Delete(rows, counterRow{ID: e.ID})
	}
	return nil
}

// counters is a projection with every kind of row operation.
func counters(name string) Projection { return countersIn(newCounterTable(), name, 1) }

// modelOf returns the read model of counters.
func modelOf(name string) readmodel.Model { return readmodel.Model{Name: name, Version: 1} }

func countersIn(t counterTable, name string, version int) Projection {
	model := readmodel.Model{Name: name, Version: version}
	list := readmodel.View{
		Model: model, Name: name + "_list", Select: "select id, label, sum from counters",
		Columns: []table.Column{{Name: "id", Type: "text"}, {Name: "label", Type: "text"}, {Name: "sum", Type: "bigint"}},
	}
	return Projection{
		Model:   model,
		Tables:  []*table.Table{t.Table},
		Views:   []readmodel.View{list},
		Streams: eventlog.Streams{"counter-"},
		Handle:  t.handle,
	}
}

// picky is counters, but refuses a counter that is opened as poisonous.
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

// folded returns the counters according to the log.
func folded(t testing.TB, log eventlog.Log, r *eventlog.Registry, upTo eventlog.Position) map[string]counter {
	t.Helper()
	all := map[string]counter{}
	fold(t, log, r, eventlog.Start(), upTo, all)
	return all
}

// fold applies the events between two positions to counters.
func fold(t testing.TB, log eventlog.Log, r *eventlog.Registry, from, upTo eventlog.Position, all map[string]counter) {
	t.Helper()
	for _, event := range read(t, log, from, upTo) {
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
}

func amend(all map[string]counter, id string, do func(*counter)) {
	if c, ok := all[id]; ok {
		do(&c)
		all[id] = c
	}
}

// read returns the events of the log after a position, up to another one.
func read(t testing.TB, log eventlog.Log, from, upTo eventlog.Position) []eventlog.Recorded {
	t.Helper()
	if upTo == from {
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var events []eventlog.Recorded
	subscription := log.Subscribe(ctx, from)
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

// shown returns the rows of the read model's view.
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

// metadata returns the metadata of a test's events.
func metadata() eventlog.Metadata {
	return eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: time.Unix(1_790_000_000, 0)}
}
