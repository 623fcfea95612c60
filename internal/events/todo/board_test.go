package todo_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
)

var errBroken = errors.New("broken")

// board is a to-do list in memory with a record of a worker's attempts. Its tests run on synctest's clock.
type board struct {
	t        *testing.T
	ready    chan struct{}
	notifier todo.Notifier

	mu      sync.Mutex
	items   map[string]todo.Item
	tries   []try
	at      int // the current number of concurrent attempts
	most    int // the maximum of at
	limits  []int
	given   []todo.GivenUp
	outage  error                                             // of the list
	do      func(ctx context.Context, n int, id string) error // the n-th attempt of an item, from 1; nil succeeds
	after   func(id string)                                   // after a success, instead of taking the item off
	shown   func(ctx context.Context) error
	giveUp  func() error
	follows bool // another instance leads
}

type try struct {
	id    string
	after time.Duration // since the board was created
}

// epoch is the start of every synctest bubble.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func newBoard(t *testing.T) *board {
	b := &board{t: t, ready: make(chan struct{}), items: map[string]todo.Item{}}
	close(b.ready)
	return b
}

// put adds an item that is due at a time after the start.
func (b *board) put(id string, due time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items[id] = todo.Item{ID: id, Stream: "board-" + id, Due: epoch.Add(due), Cause: uuid.New()}
}

func (b *board) remove(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.items, id)
}

// with changes the board's behaviour from now on.
func (b *board) with(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

func (b *board) Due(_ context.Context, by time.Time, except []todo.Item, limit int) (
	due []todo.Item, next time.Time, err error,
) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limits = append(b.limits, limit)
	for _, item := range b.items {
		if item.Due.After(by) && (next.IsZero() || item.Due.Before(next)) {
			next = item.Due
		}
		resting := slices.ContainsFunc(except, func(e todo.Item) bool { return e.ID == item.ID && e.Cause == item.Cause })
		if !item.Due.After(by) && !resting {
			due = append(due, item)
		}
	}
	slices.SortFunc(due, func(a, b todo.Item) int {
		if c := a.Due.Compare(b.Due); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return due[:min(limit, len(due))], next, b.outage
}

func (b *board) carryOut(ctx context.Context, item todo.Item) (eventlog.Position, error) {
	b.mu.Lock()
	b.tries = append(b.tries, try{item.ID, time.Since(epoch)})
	n := len(timesOf(b.tries, item.ID))
	b.at++
	b.most = max(b.most, b.at)
	do, after := b.do, b.after
	b.mu.Unlock()
	defer b.with(func() { b.at-- })
	if do != nil {
		if err := do(ctx, n, item.ID); err != nil {
			return eventlog.Position{}, err
		}
	}
	if after == nil {
		after = b.remove
	}
	after(item.ID)
	return eventlog.Position{Commit: 1}, nil
}

// tried returns the attempts so far, in order.
func (b *board) tried() []try { return locked(b, &b.tries) }

// triedAt returns the times of an item's attempts.
func (b *board) triedAt(id string) []time.Duration { return timesOf(b.tried(), id) }

// alerts returns the items that were given up.
func (b *board) alerts() []todo.GivenUp { return locked(b, &b.given) }

// looks returns the limits of all reads of the list.
func (b *board) looks() []int { return locked(b, &b.limits) }

func locked[T any](b *board, list *[]T) []T {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(*list)
}

func timesOf(tries []try, id string) (at []time.Duration) {
	for _, t := range tries {
		if t.id == id {
			at = append(at, t.after)
		}
	}
	return at
}

func (b *board) left() (ids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := range b.items {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// run starts a worker, which ends with the test or when stop is called. stop waits for its end.
func (b *board) run(limits todo.Limits) (metrics *todo.Metrics, stop func()) {
	b.t.Helper()
	metrics = todo.NewMetrics()
	worker, err := todo.NewWorker(todo.Config{
		Process:  todo.Process{Name: "chores", List: b, Do: b.carryOut},
		Limits:   limits,
		Ready:    b.ready,
		Notifier: &b.notifier,
		Model:    choresModel,
		Metrics:  metrics,
		Shown: func(ctx context.Context, _ eventlog.Position) error {
			if b.shown == nil {
				return nil
			}
			return b.shown(ctx)
		},
		GiveUp: func(_ context.Context, g todo.GivenUp) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.giveUp != nil {
				if err := b.giveUp(); err != nil {
					return err
				}
			}
			b.given = append(b.given, g)
			return nil
		},
		IsLeader: func(context.Context) (bool, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			return !b.follows, nil
		},
	})
	require.NoError(b.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := worker.Run(ctx); err != nil {
			b.t.Error(err)
		}
	}()
	stop = func() { cancel(); <-ended }
	b.t.Cleanup(stop)
	return metrics, stop
}

// live lets time pass.
func live(d time.Duration) {
	time.Sleep(d) // synctest's clock
	synctest.Wait()
}

// figures returns a metric's lines in the text format without comments, "" if it has no value.
func figures(t *testing.T, metrics *todo.Metrics, name string) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(metrics))
	families, err := registry.Gather()
	require.NoError(t, err)
	var text bytes.Buffer
	for _, family := range families {
		if family.GetName() == name {
			_, err := expfmt.MetricFamilyToText(&text, family)
			require.NoError(t, err)
		}
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(text.String()), "\n"),
		func(line string) bool { return strings.HasPrefix(line, "#") })
	return strings.ReplaceAll(strings.Join(lines, "\n"), `{process="chores"}`, "")
}

var unavailable = domain.Refuse(domain.Unavailable, "it does not answer")
