package ledger_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/spec"
)

// command is any command of the aggregate.
type command interface {
	Decide(ledger.State) ([]ledger.Event, error)
}

// periods are the periods of one account, by number, handled as ledgers and to-do workers do.
type periods struct {
	t       *rapid.T
	plan    plan.Plan
	states  map[int]ledger.State
	events  map[int][]ledger.Event
	paid    map[string]int64 // settled characters, by reservation
	granted map[string]int64 // by operators, by grant
}

func monthOf(t time.Time) int {
	return 12*t.Year() + int(t.Month()) - 12*start.Year() - int(start.Month())
}

func (p *periods) do(month int, command command) error {
	decided, err := command.Decide(p.states[month])
	if err != nil {
		require.NotEmpty(p.t, domain.CodeOf(err))
		require.Empty(p.t, decided)
		return err
	}
	for _, event := range decided {
		if e, ok := event.(ledger.Settled); ok {
			require.NotContains(p.t, p.paid, e.Reservation)
			p.paid[e.Reservation] = e.Characters
		}
		require.False(p.t, p.states[month].Over(), "%T after the end of the period", event)
		p.states[month] = ledger.Evolve(p.states[month], event)
		p.events[month] = append(p.events[month], event)
	}
	return nil
}

func (p *periods) open(month int) {
	opening := ledger.OpenPeriod{Account: "a1", Plan: p.plan, Start: start.AddDate(0, month, 0),
		End: start.AddDate(0, month+1, 0)}
	require.NoError(p.t, p.do(month, opening))
}

// in executes a command in a month, or in the month to which the credit was carried.
func (p *periods) in(month int, command command) (int, error) {
	for {
		p.open(month)
		err := p.do(month, command)
		if !errors.Is(err, ledger.ErrOver) {
			return month, err
		}
		month = monthOf(p.states[month].NextStart)
	}
}

// expire ends the reservations of a month that are over at a time.
func (p *periods) expire(month int, at time.Time) {
	seen := map[string]time.Duration{}
	for _, r := range p.states[month].Open {
		seen[r.ID] = r.At.Sub(start)
	}
	_ = p.do(month, ledger.Expire{Seen: seen, Now: at.Sub(start), At: at})
}

// pass grants the credit that was carried out of a month.
func (p *periods) pass(month int) {
	state := p.states[month]
	if state.Carried == 0 {
		return
	}
	from := state.Terms.Start
	_, err := p.in(monthOf(state.CarriedTo), ledger.Grant{Grant: fmt.Sprint("from-", month), Characters: state.Carried,
		From: &from, At: state.CarriedTo})
	require.NoError(p.t, err)
}

// underway returns the characters that were carried and not yet granted in another period.
func (p *periods) underway() (characters int64) {
	for month, state := range p.states {
		arrived := false
		for _, other := range p.states {
			_, found := other.GrantOf(fmt.Sprint("from-", month))
			arrived = arrived || found
		}
		if !arrived {
			characters += state.Carried
		}
	}
	return characters
}

func (p *periods) requireSound() {
	var settled, spent, left, granted, paid int64
	for _, state := range p.states {
		settled += state.Settled
		spent += state.CreditSpent()
		left += state.CreditLeft()
		require.GreaterOrEqual(p.t, state.CreditLeft(), int64(0))
		if !p.plan.Unlimited && !p.plan.Metered {
			require.LessOrEqual(p.t, state.Settled+state.Reserved, p.plan.Characters+state.Credit,
				"plan and credit are exceeded")
		}
	}
	for _, n := range p.granted {
		granted += n
	}
	for _, n := range p.paid {
		paid += n
	}
	require.Equal(p.t, paid, settled)
	require.Equal(p.t, granted, spent+left+p.underway(), "credit was lost or spent twice")
}

// requireSnapshotEqualsFold takes a snapshot of a month, if one can be taken.
func (p *periods) requireSnapshotEqualsFold(month int, at time.Time) {
	state := p.states[month]
	if state.Over() {
		return
	}
	due := state
	due.SinceSnapshot = ledger.SnapshotEvery
	snapshot := due.Snapshot(at)
	again := spec.FromSnapshot(p.t, ledger.Evolve, snapshot, state, p.states[month-1])
	again.SinceSnapshot, state.SinceSnapshot = 0, 0
	if len(state.Open) == 0 {
		again.Open, state.Open = nil, nil
	}
	require.Equal(p.t, state, again)
}

// For any order of events over several periods, and for any crash between the two halves of carrying credit: a free
// account never uses more than its plan and its credit, no character is counted twice, credit is neither lost nor spent
// twice, and a fold from the last snapshot equals the fold of all events.
func TestAnyHistoryKeepsTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &periods{
			t: t, plan: rapid.SampledFrom(plan.All()).Draw(t, "plan"),
			states: map[int]ledger.State{}, events: map[int][]ledger.Event{}, paid: map[string]int64{},
			granted: map[string]int64{},
		}
		scale := max(1, p.plan.Characters/15_000)
		at, reservations := start, 0
		where := map[string]int{} // the month of a reservation
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			at = at.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 5, 20, 24 * 20}).Draw(t, "hours")) * time.Hour / 2)
			month := monthOf(at)
			some := max(0, month-rapid.IntRange(0, 3).Draw(t, "ago"))
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0, 1:
				reservations++
				id := fmt.Sprint("r", reservations)
				n := rapid.Int64Range(0, 9_000).Draw(t, "n") * scale
				if took, err := p.in(some, ledger.Reserve{Reservation: id, Characters: n, At: at,
					ExpiresAt: at.Add(10 * time.Hour)}); err == nil {
					where[id] = took
				}
			case 2:
				id := fmt.Sprint("r", rapid.IntRange(0, reservations).Draw(t, "reservation"))
				if in, made := where[id]; made {
					_ = p.do(in, ledger.Settle{Reservation: id, Characters: rapid.Int64Range(0, 9_000).Draw(t, "n") * scale, At: at})
				}
			case 3:
				p.expire(some, at)
			case 4:
				id := rapid.SampledFrom([]string{"g1", "g2", "g3", "g4", "g5"}).Draw(t, "grant")
				n := rapid.Int64Range(1, 5).Draw(t, "n") * 4_000 * scale
				if _, known := p.granted[id]; known {
					continue // of this period or another one, which only a ledger can tell
				}
				_, err := p.in(some, ledger.Grant{Grant: id, Characters: n, At: at})
				require.NoError(t, err)
				p.granted[id] = n
			case 5:
				_ = p.do(some, ledger.Carry{To: start.AddDate(0, month, 0), At: at})
			case 6:
				p.pass(some)
			}
			p.requireSound()
			p.requireSnapshotEqualsFold(month, at)
		}
		for month, events := range p.events {
			require.Equal(t, p.states[month], spec.Fold(ledger.Evolve, events))
		}

		// When everything has ended, all remaining credit is in one period.
		last := monthOf(at) + 1
		for month := range last {
			if p.states[month].Exists() {
				p.expire(month, at.AddDate(1, 0, 0))
				require.NoError(t, p.do(month, ledger.Carry{To: start.AddDate(0, last, 0), At: start.AddDate(0, last, 0)}))
				p.pass(month)
			}
		}
		p.requireSound()
		require.Zero(t, p.underway())
		for month, state := range p.states {
			if month != last {
				require.Zero(t, state.CreditLeft())
			}
		}
	})
}
