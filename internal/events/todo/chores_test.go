package todo_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/events/todo/pglist"
)

// choreAsked adds a chore to the list, choreDone removes it.
type choreAsked struct {
	Chore string    `json:"chore"`
	Due   time.Time `json:"due"`
}

type choreDone struct {
	Chore  string `json:"chore"`
	Worker string `json:"worker"`
}

var (
	choresModel = readmodel.Model{Name: "chores", Version: 1}
	choresView  = readmodel.NewToDo(choresModel, "todo_chores")
)

// chores is the to-do list.
func chores() feed.Projection {
	return feed.Projection{
		Model: choresModel, Tables: []*table.Table{choresView.Table},
		Views:   []readmodel.View{choresView.View},
		Streams: eventlog.Streams{"chore-"},
		Handle: func(event eventlog.Decoded, rows *table.Rows) error {
			switch e := event.Event.(type) {
			case choreAsked:
				choresView.Put(rows, readmodel.ToDoRow{Item: e.Chore, Stream: event.Stream, Due: e.Due, Cause: event.ID.String()})
			case choreDone:
				choresView.Delete(rows, readmodel.ToDoRow{Item: e.Chore})
			}
			return nil
		},
	}
}

// house is a log in a real node and a real database with a list of chores.
type house struct {
	*feedtest.World
	t *testing.T
}

func newHouse(t *testing.T) *house {
	t.Helper()
	registry := feedtest.Registry(t,
		eventlog.In("chore-", eventlog.Define[choreAsked]("chore-asked", 1), eventlog.Define[choreDone]("chore-done", 1)),
		eventlog.In(alert.Stream, eventlog.Define[alert.Raised]("alert-raised", 1)))
	return &house{World: feedtest.New(t, registry), t: t}
}

// onNewDatabase returns the same log with another, empty database.
func (h *house) onNewDatabase() *house { return &house{World: h.OnNewDatabase(h.t), t: h.t} }

// project keeps the list up to date, until stop is called or the test ends.
func (h *house) project() (projector *feed.Projector, stop func()) {
	h.t.Helper()
	stop = h.Project(h.t, chores())
	return h.Projector, stop
}

func (h *house) metadata(cause uuid.UUID) eventlog.Metadata {
	return eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: time.Now(), CausationID: cause}
}

// ask adds chores to the list.
func (h *house) ask(due time.Time, chores ...string) (last eventlog.Position) {
	h.t.Helper()
	for _, chore := range chores {
		events, err := h.Registry.Encode(uuid.New(), 0, h.metadata(uuid.Nil), choreAsked{Chore: chore, Due: due})
		require.NoError(h.t, err)
		appended, err := h.Log.Append(h.t.Context(), "chore-"+chore, eventlog.NoStream, events)
		require.NoError(h.t, err)
		last = appended.Position
	}
	return last
}

// do implements Process.Do: it reads the stream, decides, and appends at the revision that it read.
func (h *house) do(ctx context.Context, worker string, item todo.Item) (eventlog.Position, error) {
	for {
		at, position, done, err := h.look(ctx, item.Stream)
		if err != nil || done {
			return position, err
		}
		command := todo.CommandID("chores", item.ID, item.Cause)
		events, err := h.Registry.Encode(command, 0, h.metadata(item.Cause), choreDone{Chore: item.ID, Worker: worker})
		if err != nil {
			return eventlog.Position{}, err
		}
		appended, err := h.Log.Append(ctx, item.Stream, at, events)
		if errors.As(err, new(*eventlog.ConflictError)) {
			continue
		}
		return appended.Position, err
	}
}

func (h *house) look(
	ctx context.Context, stream string,
) (at eventlog.Revision, position eventlog.Position, done bool, err error) {
	at = eventlog.NoStream
	for recorded, err := range h.Log.ReadStream(ctx, stream, 0) {
		if err != nil {
			return at, position, false, err
		}
		at, position = eventlog.Revision(recorded.Revision), recorded.Position
		done = done || recorded.Type == "chore-done"
	}
	return at, position, done, nil
}

// outcomes returns the causes of all outcomes in the log, by chore.
func (h *house) outcomes() map[string][]uuid.UUID {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	causes := map[string][]uuid.UUID{}
	subscription := h.Log.Subscribe(ctx, eventlog.Start())
	for delivery := range subscription.Deliveries() {
		if delivery.Kind == eventlog.KindCaughtUp {
			return causes
		}
		if delivery.Kind == eventlog.KindEvent && delivery.Event.Type == "chore-done" {
			decoded, err := h.Registry.Decode(delivery.Event)
			require.NoError(h.t, err)
			chore := strings.TrimPrefix(delivery.Event.Stream, "chore-")
			causes[chore] = append(causes[chore], decoded.Meta.CausationID)
		}
	}
	require.Fail(h.t, "the log cannot be read", subscription.Err())
	return nil
}

// causeOf returns the id of the event that added a chore.
func (h *house) causeOf(chore string) uuid.UUID {
	h.t.Helper()
	for recorded, err := range h.Log.ReadStream(h.t.Context(), "chore-"+chore, 0) {
		require.NoError(h.t, err)
		return recorded.ID
	}
	return uuid.Nil
}

// worker is a worker on the real list.
type worker struct {
	name   string
	do     func(ctx context.Context, item todo.Item) (eventlog.Position, error) // nil: the house's
	locks  *pglist.LeaderLocks                                                  // nil: it always leads
	shown  func(ctx context.Context, position eventlog.Position) error
	giveUp func(ctx context.Context, item todo.GivenUp) error // nil: giving up is an error
}

// start runs a worker until stop is called or the test ends.
func (h *house) start(w worker) (stop func()) {
	h.t.Helper()
	list := pglist.NewView(h.Pool, choresView)
	if w.do == nil {
		w.do = func(ctx context.Context, item todo.Item) (eventlog.Position, error) { return h.do(ctx, w.name, item) }
	}
	if w.giveUp == nil {
		w.giveUp = func(context.Context, todo.GivenUp) error { return errors.New("unexpectedly given up") }
	}
	ready := make(chan struct{})
	close(ready)
	config := todo.Config{
		Process: todo.Process{Name: "chores", List: list, Do: w.do},
		Limits: todo.Limits{Poll: 20 * time.Millisecond, FirstPause: time.Millisecond, LongestPause: 10 * time.Millisecond,
			Rest: 20 * time.Millisecond, OutagePause: 50 * time.Millisecond},
		Ready:  ready,
		Shown:  w.shown,
		GiveUp: w.giveUp,
	}
	if w.locks != nil {
		config.IsLeader = func(ctx context.Context) (bool, error) { return w.locks.TryAcquire(ctx, "chores") }
	}
	made, err := todo.NewWorker(config)
	require.NoError(h.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- made.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(h.t, <-ended)
	})
	h.t.Cleanup(stop)
	return stop
}
