package installed

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// shop is places and what is known of those who have one or wait.
type shop struct {
	*places
	holding []string // accounts, one for each place that is taken
	waiting []*waiter
	passed  map[*waiter]map[string]int // how often others were served since its account was, of those with as many
}

// settle finds out who was served.
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

// requirePlaces checks that no place is lost, or taken twice, and that none is free while somebody waits.
func (s *shop) requirePlaces(t *rapid.T) {
	require.Equal(t, len(s.holding), s.inUse())
	require.LessOrEqual(t, len(s.holding), s.total)
	if len(s.waiting) > 0 {
		require.Equal(t, s.total, len(s.holding))
	}
}

// In whatever order streams come, end and are given up, a place goes to an account that has the fewest, and where
// accounts have as many, none of them is served twice before another that waits.
func TestPlacesAreSharedFairly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(1, 5).Draw(t, "places")
		s := &shop{places: newPlaces(total), passed: map[*waiter]map[string]int{}}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			held := map[string]int{}
			for _, account := range s.holding {
				held[account]++
			}
			switch kind := rapid.IntRange(0, 3).Draw(t, "what happens"); {
			case kind <= 1:
				w := s.queue(fmt.Sprint("account ", rapid.IntRange(1, 4).Draw(t, "account")), true)
				s.waiting, s.passed[w] = append(s.waiting, w), map[string]int{}
			case kind == 2 && len(s.holding) > 0:
				i := rapid.IntRange(0, len(s.holding)-1).Draw(t, "whose stream ends")
				account := s.holding[i]
				s.holding = append(s.holding[:i:i], s.holding[i+1:]...)
				held[account]--
				s.give(account)
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

// requireTurns checks that no account that waits was passed twice by another one.
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
	p := newPlaces(1)
	require.True(t, p.try("a"))
	require.False(t, p.try("b"))
	fresh := p.queue("b", true)
	ongoing := p.queue("a", false)
	p.give("a")
	<-ongoing.granted
	require.True(t, p.leave(fresh))
	require.False(t, p.leave(ongoing), "it has its place")
}

func TestAPlaceIsNotLostToWhomeverGivesUp(t *testing.T) {
	p := newPlaces(1)
	require.True(t, p.try("a"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, p.wait(ctx, "b", true, 0), context.Canceled)
	p.give("a")
	require.Zero(t, p.inUse())
	require.True(t, p.try("b"))
}
