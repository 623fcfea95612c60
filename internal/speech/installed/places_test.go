package installed

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech"
)

// shop is a set of places with their holders and waiters.
type shop struct {
	*places
	share   *share
	holding []string // accounts, one for each taken place
	waiting []*waiter
	passed  map[*waiter]map[string]int // how often others were served since its account was, of those with as many
}

// settle moves the served waiters to the holders.
func (s *shop) settle(t *rapid.T, held map[string]int) {
	var left, served []*waiter
	for _, w := range s.waiting {
		select {
		case <-w.granted:
			served = append(served, w)
			s.holding = append(s.holding, w.account)
		default:
			left = append(left, w)
		}
	}
	s.waiting = left
	require.LessOrEqual(t, len(served), 1, "one place was given back")
	for _, w := range served {
		for _, other := range left {
			require.LessOrEqual(t, held[w.account], held[other.account], "%s had fewer", other.account)
			if other.account == w.account {
				clear(s.passed[other])
			} else if held[w.account] == held[other.account] {
				s.passed[other][w.account]++
			}
		}
	}
}

// requirePlaces checks that no place is lost, or taken twice, and that none is free while a stream waits.
func (s *shop) requirePlaces(t *rapid.T) {
	taken, places := s.inUse()
	require.Equal(t, len(s.holding), taken)
	require.LessOrEqual(t, taken, places)
	if len(s.waiting) > 0 {
		require.Equal(t, places, taken)
	}
}

// placesOf returns places of one model.
func placesOf(total int) (*places, *share) {
	p := newPlaces(math.Inf(1))
	s := p.open()
	p.resize(s, total, 1)
	return p, s
}

// For any order of arriving, ending and abandoned streams, a place goes to an account with the fewest places. Among
// equals, no account is served twice before another that waits.
func TestPlacesAreSharedFairly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(1, 5).Draw(t, "places")
		places, share := placesOf(total)
		s := &shop{places: places, share: share, passed: map[*waiter]map[string]int{}}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			held := map[string]int{}
			for _, account := range s.holding {
				held[account]++
			}
			switch kind := rapid.IntRange(0, 3).Draw(t, "what happens"); {
			case kind <= 1:
				w := s.queue(share, fmt.Sprint("account ", rapid.IntRange(1, 4).Draw(t, "account")), true)
				s.waiting, s.passed[w] = append(s.waiting, w), map[string]int{}
			case kind == 2 && len(s.holding) > 0:
				i := rapid.IntRange(0, len(s.holding)-1).Draw(t, "whose stream ends")
				account := s.holding[i]
				s.holding = append(s.holding[:i:i], s.holding[i+1:]...)
				held[account]--
				s.give(share, account)
			case kind == 3 && len(s.waiting) > 0:
				i := rapid.IntRange(0, len(s.waiting)-1).Draw(t, "who gives up")
				require.True(t, s.leave(s.waiting[i]))
				s.waiting = append(s.waiting[:i:i], s.waiting[i+1:]...)
			}
			s.settle(t, held)
			s.requirePlaces(t)
			if total == 1 {
				s.requireTurns(t)
			}
		}
	})
}

// requireTurns checks that another account has not passed a waiting one twice.
func (s *shop) requireTurns(t *rapid.T) {
	first := map[string]bool{}
	for _, w := range s.waiting {
		if first[w.account] {
			continue
		}
		first[w.account] = true
		for by, times := range s.passed[w] {
			require.LessOrEqual(t, times, 1, "%s was passed by %s", w.account, by)
		}
	}
}

func TestWhatGoesOnComesBeforeWhatIsNew(t *testing.T) {
	p, s := placesOf(1)
	require.True(t, p.try(s, "a"))
	require.False(t, p.try(s, "b"))
	fresh := p.queue(s, "b", true)
	ongoing := p.queue(s, "a", false)
	p.give(s, "a")
	<-ongoing.granted
	require.True(t, p.leave(fresh))
	require.False(t, p.leave(ongoing), "it has its place")
}

func TestAPlaceIsNotLostToWhomeverGivesUp(t *testing.T) {
	p, s := placesOf(1)
	require.True(t, p.try(s, "a"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, p.wait(ctx, s, "b", true, 0), context.Canceled)
	p.give(s, "a")
	taken, _ := p.inUse()
	require.Zero(t, taken)
	require.True(t, p.try(s, "b"))
}

// The end of a model ends the wait for it immediately, even while a stream takes all processors.
func TestNobodyWaitsForAModelThatHasEnded(t *testing.T) {
	p := newPlaces(1)
	dear, ended := p.open(), p.open()
	p.resize(dear, 1, 2)
	p.resize(ended, 1, 1)
	require.True(t, p.try(dear, "a"))
	w := p.queue(ended, "b", false)
	p.close(ended)
	require.False(t, p.leave(w), "it has a place, and finds that the voice has ended")
}

// Streams of several models together do not exceed the processors for streams, and the next in turn does not wait for a
// free place.
func TestModelsShareTheProcessors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPlaces(1.4)
		var shares []*share
		for range rapid.IntRange(1, 3).Draw(t, "models") {
			shares = append(shares, p.open())
			p.resize(shares[len(shares)-1], rapid.IntRange(1, 4).Draw(t, "places"), rapid.Float64Range(0.1, 2).Draw(t, "cost"))
		}
		var waiters []*waiter // those that wait, and those that have a place
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if i := rapid.IntRange(0, 2*len(waiters)).Draw(t, "what happens"); i < len(waiters) {
				w := waiters[i]
				if waiters = slices.Delete(waiters, i, i+1); !p.leave(w) {
					p.give(w.of, w.account)
				}
			} else {
				account := fmt.Sprint("account ", rapid.IntRange(1, 3).Draw(t, "account"))
				isNew := rapid.Bool().Draw(t, "new")
				waiters = append(waiters, p.queue(rapid.SampledFrom(shares).Draw(t, "model"), account, isNew))
			}
			requireRoom(t, p, shares, waiters)
		}
	})
}

// requireRoom checks the holders of places.
func requireRoom(t *rapid.T, p *places, shares []*share, waiters []*waiter) {
	taken, load, waiting := map[*share]int{}, 0.0, false
	for _, w := range waiters {
		select {
		case <-w.granted:
			taken[w.of]++
			load += w.of.cost
		default:
			waiting = true
		}
	}
	streams := 0
	for _, s := range shares {
		require.Equal(t, taken[s], s.taken)
		require.LessOrEqual(t, s.taken, s.places)
		streams += s.taken
	}
	require.True(t, load <= 1.4+1e-6 || streams == 1, "%d streams take %v processors", streams, load)
	require.False(t, waiting && streams == 0, "somebody waits for nobody")
	if next := p.next(); next != nil {
		require.Greater(t, load+next.of.cost, 1.4, "somebody waits for a place that is free")
	}
}

func TestTwoListenersDoNotWaitForEachOther(t *testing.T) {
	e := New(Config{Logger: slog.New(slog.DiscardHandler)})
	e.places = newPlaces(math.Inf(1))
	one, other := e.places.open(), e.places.open()
	e.places.resize(one, 1, 1)
	e.places.resize(other, 1, 1)
	admit := func(ctx context.Context, listener *speech.Listener, shares ...*share) error {
		for i, s := range shares {
			if err := e.admit(ctx, listener, s, i == 0); err != nil {
				return err
			}
		}
		return nil
	}
	for range 200 {
		var listeners sync.WaitGroup
		for _, shares := range [][]*share{{one, other, one}, {other, one, other}} {
			listeners.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				assert.NoError(t, admit(ctx, &speech.Listener{Account: "a"}, shares...))
			})
		}
		listeners.Wait()
	}
	require.Eventually(t, func() bool {
		taken, _ := e.places.inUse()
		return taken == 0
	}, time.Minute, time.Millisecond, "the places are given back")
	require.Empty(t, e.tenants)
}
