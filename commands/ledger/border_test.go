package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/commands/commandstest"
	commands "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/testing/proptest"
)

// subscriber is an account with a subscription, its usage and its grants.
type subscriber struct {
	w        *world
	id       string
	now      plan.Entitlement // by the provider
	revision eventlog.Revision
	open     []commands.Reservation
	settled  map[string]int64 // by reservation
	granted  int64
	unheard  int // changes that the periods do not follow yet
}

// says appends an entitlement to the subscription's stream, which is not followed yet.
func (s *subscriber) says(e plan.Entitlement) {
	s.now = e
	s.unheard++
	s.revision = s.w.Other(subscription.Stream(s.id), s.revision, subscription.Entitled{Account: s.id, Entitlement: e,
		At: s.w.Clock.Now()})
}

func (s *subscriber) putOnTerms(r require.TestingT, keeper *commands.Ledger) {
	_, err := keeper.FollowEntitlement(context.Background(), s.id, uuid.New())
	require.NoError(r, err, "%s", s)
	s.unheard = 0
}

func (s *subscriber) follow(r require.TestingT) {
	_, err := s.w.Accounts.FollowSubscription(context.Background(), account.Stream(s.id))
	require.NoError(r, err)
}

// changes returns the possible changes of a subscription at a time.
func (s *subscriber) changes(now time.Time) map[string]plan.Entitlement {
	paid := s.now.Plan != plan.Free
	found := map[string]plan.Entitlement{}
	if !paid {
		for _, on := range []plan.Type{plan.Indie, plan.Pro} {
			found["bought "+string(on)] = plan.Entitlement{Plan: on, Start: now, End: now.AddDate(0, 1, 0), Next: on,
				Anchor: now}
		}
		if before := s.now; before.Anchor.After(time.Time{}) { // an unpaid plan
			before.Plan, before.Start, before.Next = plan.Pro, before.Anchor, plan.Pro
			found["paid after all"] = plan.Entitlement{Plan: plan.Pro, Start: before.Anchor, End: before.Anchor.AddDate(0, 1, 0),
				Next: plan.Pro, Anchor: before.Anchor}
		}
		return found
	}
	upgrade, downgrade, cancel := s.now, s.now, s.now
	upgrade.Plan, upgrade.Next = plan.Premium, plan.Premium
	downgrade.Next, cancel.Next = plan.Indie, plan.Free
	found["upgraded"], found["a downgrade is scheduled"], found["cancelled"] = upgrade, downgrade, cancel
	found["ended at once"] = plan.Entitlement{Plan: plan.Free, Start: now}
	found["lapsed"] = plan.Entitlement{Plan: plan.Free, Start: now, Anchor: s.now.Start}
	if !now.Before(s.now.End) {
		found["renewed"] = plan.Entitlement{Plan: s.now.Next, Start: s.now.End, End: s.now.End.AddDate(0, 1, 0),
			Next: s.now.Next, Anchor: s.now.Anchor}
		if s.now.Next == plan.Free {
			found["renewed"] = plan.Entitlement{Plan: plan.Free, Start: s.now.End}
		}
		delete(found, "upgraded")
		delete(found, "a downgrade is scheduled")
		delete(found, "cancelled")
	}
	return found
}

// sweep executes the to-dos of the periods so far.
func (s *subscriber) sweep(r require.TestingT, keeper *commands.Ledger) {
	for _, stream := range s.w.Log.Written("usage-" + s.id) {
		books := s.w.BooksOf(stream)
		if len(books.Events) == 0 || !books.Over() && s.w.Clock.Now().Before(books.Terms.End) {
			continue
		}
		for _, err := range []error{second(keeper.CarryCredit(context.Background(), stream, uuid.New())),
			second(keeper.ClosePeriod(context.Background(), stream, uuid.New()))} {
			if err != nil && !errors.As(err, new(*todo.NotYetError)) {
				require.Equal(r, domain.Conflict, domain.CodeOf(err), "%v: %v", stream, err) // the clock of this one is behind
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

// For any changes of a subscription during requests, followed at any time by the account, the periods and each of two
// instances, one with a clock that is behind: delivered characters are settled once, in one period; periods follow each
// other; credit is neither lost nor doubled; and exactly the settled characters past plan and credit are billed.
func TestNothingIsLostOrDoubledAtABorder(t *testing.T) {
	w := newWorld(t)
	proptest.Check(t, 2, func(r *rapid.T) {
		s := &subscriber{w: w, id: w.Open("free"), now: plan.Entitlement{Plan: plan.Free}, revision: eventlog.NoStream,
			settled: map[string]int64{}}
		behind := time.Duration(rapid.IntRange(0, 300).Draw(r, "seconds behind")) * time.Second
		slow := commands.New(w.Journal, w.Accounts, func() time.Time { return w.Clock.Now().Add(-behind) },
			commandstest.Longest)
		slow.MeasureBy(w.Clock.Elapsed)
		ledgers := []*commands.Ledger{w.NewLedger(), slow}
		defer func() {
			for _, l := range ledgers {
				l.Close()
			}
		}()
		settle := func(i int, delivered int64) {
			_, err := oneOf(r, ledgers).Settle(context.Background(), s.open[i], delivered)
			require.NoError(r, err)
			s.settled[s.open[i].ID.String()] = delivered
			s.open = slices.Delete(s.open, i, i+1)
		}
		r.Repeat(map[string]func(*rapid.T){
			"reserve": func(r *rapid.T) {
				n := rapid.Int64Range(0, 9_000).Draw(r, "characters") * rapid.SampledFrom([]int64{1, 40}).Draw(r, "scale")
				made, err := oneOf(r, ledgers).Reserve(context.Background(), s.id, n, commandstest.Operator())
				if domain.CodeOf(err) == domain.PaymentRequired {
					return
				}
				require.NoError(r, err, "%s", s)
				s.open = append(s.open, made)
			},
			"settle": func(r *rapid.T) {
				if len(s.open) == 0 {
					return
				}
				i := rapid.IntRange(0, len(s.open)-1).Draw(r, "reservation")
				settle(i, rapid.Int64Range(0, s.open[i].Characters).Draw(r, "delivered"))
			},
			"grant": func(r *rapid.T) {
				n := rapid.Int64Range(1, 5_000).Draw(r, "credit")
				_, err := oneOf(r, ledgers).GrantCredit(context.Background(), s.id, uuid.NewString(), n, commandstest.Operator())
				require.NoError(r, err)
				s.granted += n
			},
			"subscription": func(r *rapid.T) {
				changes := s.changes(w.Clock.Now())
				names := make([]string, 0, len(changes))
				for name := range changes {
					names = append(names, name)
				}
				slices.Sort(names)
				s.says(changes[rapid.SampledFrom(names).Draw(r, "change")])
			},
			"account": func(r *rapid.T) { s.follow(r) },
			"periods": func(r *rapid.T) { s.putOnTerms(r, oneOf(r, ledgers)) },
			"": func(r *rapid.T) {
				if s.unheard > 5 {
					s.putOnTerms(r, oneOf(r, ledgers))
				}
			},
			"sweep": func(r *rapid.T) { s.sweep(r, oneOf(r, ledgers)) },
			"time": func(r *rapid.T) {
				// Only the wall clock, so that reservations do not expire.
				w.Clock.Jump(time.Duration(rapid.SampledFrom([]int{300, 60_000, 86_400_000, 12 * 86_400_000}).Draw(r,
					"milliseconds")) * time.Millisecond)
			},
			"to the border": func(r *rapid.T) {
				border := w.Account(s.id).Entitlement.At(w.Clock.Now()).End
				w.Clock.Jump(border.Sub(w.Clock.Now()) + time.Duration(rapid.IntRange(-2, 2).Draw(r, "seconds"))*time.Second)
			},
		})

		// when all of it has ended and is followed
		for len(s.open) > 0 {
			settle(0, s.open[0].Characters/2)
		}
		s.follow(r)
		w.Clock.Jump(behind)
		for _, l := range ledgers {
			s.putOnTerms(r, l)
		}
		s.sweep(r, ledgers[0])
		s.requireBooks(r)

		// then both instances continue in the current period
		for _, l := range ledgers {
			made, err := l.Reserve(context.Background(), s.id, 0, commandstest.Operator())
			require.NoError(r, err)
			now, e := w.Clock.Now(), w.Account(s.id).Entitlement
			plans := []plan.Type{e.At(now).Plan}
			if l == slow {
				plans = append(plans, e.At(now.Add(-behind)).Plan)
			}
			require.Contains(r, plans, made.Allowance.Plan)
		}
	})
}

func (s *subscriber) requireBooks(r require.TestingT) {
	settled := map[string]int64{}
	var left, spent int64
	var last time.Time
	for _, stream := range s.w.Log.Written("usage-" + s.id) {
		books := s.w.BooksOf(stream)
		if len(books.Events) == 0 {
			continue
		}
		require.Empty(r, books.Open)
		for reservation, characters := range books.SettledBy {
			require.NotContains(r, settled, reservation, "settled in two periods")
			settled[reservation] = characters
		}
		left, spent = left+books.CreditLeft(), spent+books.CreditSpent()
		require.True(r, books.Terms.End.After(books.Terms.Start), stream)
		require.False(r, books.Terms.Start.Before(last), "%s begins before the end of the one before, %s:%s", stream, last, s)
		last = books.Terms.Start
		if slices.ContainsFunc(books.Events, func(e ledger.Event) bool { _, is := e.(ledger.Ended); return is }) {
			last = books.Terms.End // otherwise it was over before it was cut short
		}
		if limit := books.Terms.Limit; books.Closed() && limit != nil && books.Terms.Metered {
			over, _ := books.OverageOn(books.Terms.Version)
			require.Equal(r, max(0, books.Settled-*limit-books.Credit), over.Characters)
		}
	}
	require.Equal(r, s.settled, settled)
	require.Equal(r, s.granted, left+spent, "%s", s)
}

// String lists the entitlements of the account, and its periods.
func (s *subscriber) String() string {
	var lines strings.Builder
	for _, event := range commandstest.Fold[account.Event](s.w.World, account.Stream(s.id)) {
		if e, is := event.(account.Entitled); is {
			fmt.Fprintf(&lines, "\n%s  %d: %s from %s to %s, then %s", e.At, e.Version, e.Plan, e.Start, e.End, e.Next)
		}
	}
	for _, stream := range s.w.Log.Written("usage-" + s.id) {
		b := s.w.BooksOf(stream)
		fmt.Fprintf(&lines, "\n%s: %s %d, %s to %s, then %s", stream, b.Terms.Plan, b.Terms.Version, b.Terms.Start,
			b.Terms.End, b.NextStart)
	}
	return lines.String()
}
