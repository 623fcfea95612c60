package feed

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// look is the result of a read.
type look struct {
	rows map[string]counter
	at   eventlog.Position
}

// reader reads a read model repeatedly.
type reader struct {
	looks map[eventlog.Position]look // a part of the results, by position
	reads int
	last  eventlog.Position
	err   error
	back  bool // a read was older than the previous one
}

// reading starts a reader through an instance that reads until the returned function is called.
func (r *running) reading() (stop func() *reader) {
	ctx, cancel := context.WithCancel(r.t.Context())
	all := &reader{looks: map[eventlog.Position]look{}}
	var working sync.WaitGroup
	working.Go(func() {
		for ctx.Err() == nil && all.err == nil && !all.back {
			rows, at, err := r.read(r.t.Context(), "list")
			if errors.Is(err, ErrBehind) { // on a slow machine
				continue
			}
			all.err, all.back = err, at.Compare(all.last) < 0
			if all.reads++; err == nil && (len(all.looks) < 20 || all.reads%100 == 0) {
				all.looks[at] = look{rows, at}
			}
			all.last = at
		}
	})
	return func() *reader {
		cancel()
		working.Wait()
		return all
	}
}

// Reads are exact and never step back, during all acts of operators and instances.
func TestReadsAreExactDuringActsOfOperators(t *testing.T) {
	choose := newRandom().IntN
	rounds := 10
	if testing.Short() {
		rounds = 1
	}
	list := func(number int) GenerationID { return GenerationID{Name: "list", Number: number} }
	for round := range rounds {
		// given two instances, a writer, and a reader of each instance
		w := newWorld(t)
		config := w.config(counters("list"), counters("other"))
		config.Limits.Events = 200
		instances := startTwo(t, config)
		for _, instance := range instances {
			<-instance.CaughtUp()
		}
		written := w.writing()
		stops := []func() *reader{instances[0].reading(), instances[1].reading()}

		// when operators act at random, through either of them, without pauses
		for range 12 {
			by := instances[choose(2)]
			overview, err := by.Overview(t.Context())
			require.NoError(t, err)
			number := overview.Generations[choose(len(overview.Generations))].Number
			switch choose(6) {
			case 0, 1:
				_, err = by.Rebuild(t.Context(), []string{"list"}, choose(2) == 0)
			case 2:
				_, err = by.Promote(t.Context(), []GenerationID{list(number)})
			case 3:
				_, err = by.Rollback(t.Context(), list(0))
			case 4:
				err = by.Retire(t.Context(), list(number))
			case 5: // a promotion, after which the predecessor is dropped immediately
				ids, failed := by.Promote(t.Context(), []GenerationID{list(0)})
				err = failed
				for n := 1; err == nil && n < ids[0].Number; n++ {
					err = by.Retire(t.Context(), list(n))
				}
			}
			if err != nil {
				require.Contains(t, []domain.Code{domain.Conflict, domain.NotFound, domain.Invalid}, domain.CodeOf(err), err)
			}
		}

		// then each read equals a fold of the log at its position, and none is older than the previous one
		written()
		for _, stop := range stops {
			seen := stop()
			require.NoError(t, seen.err, "round %d, after %d reads", round, seen.reads)
			require.Positive(t, seen.reads)
			require.False(t, seen.back, "round %d: a read stepped back to %s", round, seen.last)
			for _, look := range slices.Collect(maps.Values(seen.looks)) {
				require.Equal(t, folded(t, w.log, w.registry, look.at), look.rows)
			}
		}
		for _, instance := range instances {
			instance.stop()
		}
	}
}
