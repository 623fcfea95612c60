package commands_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/domain"
)

// customer is a free account as a test expects it to be in its period of now.
type customer struct {
	id      string
	open    map[commands.Reservation]time.Time // when it expires
	settled map[string]int64                   // by reservation
	credit  int64                              // granted or carried in
	grants  map[string]int64                   // of operators, by grant, of this period and those before
}

func (c *customer) expire(now time.Time) {
	for r, at := range c.open {
		if !at.After(now) {
			delete(c.open, r)
		}
	}
}

func (c *customer) used() int64 {
	var used int64
	for _, n := range c.settled {
		used += n
	}
	for r := range c.open {
		used += r.Characters
	}
	return used
}

// nextPeriod ends what is open and keeps the credit that is not spent.
func (c *customer) nextPeriod() {
	clear(c.open)
	c.credit -= min(max(c.used()-freeLimit, 0), c.credit)
	clear(c.settled)
}

// Whatever commands two instances carry out, one of which is restarted now and then, the account is what one list of
// reservations, settlements and grants comes to: a reservation is made exactly when it fits, and counts once; credit is
// there until it is spent, from period to period.
func TestAnyHistoryOfTwoInstances(t *testing.T) {
	w := newWorld(t)
	rapid.Check(t, func(r *rapid.T) {
		c := customer{
			id: w.open("free"), open: map[commands.Reservation]time.Time{}, settled: map[string]int64{}, grants: map[string]int64{},
		}
		ledgers := []*commands.Ledger{w.newLedger(), w.newLedger()}
		defer func() {
			for _, l := range ledgers {
				l.Close()
			}
		}()
		var all []commands.Reservation // ended ones too
		r.Repeat(map[string]func(*rapid.T){
			"": func(r *rapid.T) {
				c.expire(w.clock.Now())
				require.LessOrEqual(r, c.used(), freeLimit+c.credit)
			},
			"reserve": func(r *rapid.T) {
				n := rapid.Int64Range(0, 7_000).Draw(r, "characters")
				made, err := oneOf(r, ledgers).Reserve(context.Background(), c.id, n, operator)
				if c.used()+n > freeLimit+c.credit {
					require.Equal(r, domain.PaymentRequired, domain.CodeOf(err), "%v", err)
					return
				}
				require.NoError(r, err)
				c.open[made] = w.clock.Now().Add(longest)
				all = append(all, made)
				remaining, limited := made.Allowance.Remaining()
				require.True(r, limited)
				require.Equal(r, freeLimit+c.credit-c.used(), remaining)
			},
			"grant": func(r *rapid.T) {
				id := fmt.Sprint("g", rapid.IntRange(0, len(c.grants)).Draw(r, "grant"))
				n, again := c.grants[id]
				if !again {
					n = rapid.Int64Range(1, 9_000).Draw(r, "characters")
				}
				_, err := oneOf(r, ledgers).GrantCredit(context.Background(), c.id, id, n, operator)
				require.NoError(r, err)
				if !again {
					c.grants[id] = n
					c.credit += n
				}
			},
			"month": func(r *rapid.T) {
				old := w.nextPeriod(c.id)
				c.nextPeriod()
				for range rapid.IntRange(1, 2).Draw(r, "times") {
					if len(w.booksOf(old).events) > 0 {
						_, err := oneOf(r, ledgers).CarryCredit(context.Background(), old, uuid.New())
						require.NoError(r, err)
					}
				}
				for id := range c.grants { // the next but one would not know them any more
					if _, found := w.booksOf(old).GrantOf(id); !found {
						delete(c.grants, id)
					}
				}
			},
			"settle": func(r *rapid.T) {
				if len(all) == 0 {
					return
				}
				which := all[rapid.IntRange(0, len(all)-1).Draw(r, "reservation")]
				n := rapid.Int64Range(0, which.Characters).Draw(r, "characters")
				_, err := oneOf(r, ledgers).Settle(context.Background(), which, n)
				require.NoError(r, err)
				if _, open := c.open[which]; open {
					delete(c.open, which)
					c.settled[which.ID.String()] = n
				}
			},
			"time": func(r *rapid.T) {
				w.clock.advance(time.Duration(rapid.IntRange(1, 300).Draw(r, "seconds")) * time.Second)
			},
			"restart": func(r *rapid.T) {
				i := rapid.IntRange(0, 1).Draw(r, "ledger")
				ledgers[i].Close()
				ledgers[i] = w.newLedger()
			},
			"at once": func(r *rapid.T) {
				// Both instances together, so that they conflict: of six requests of one size as many are granted as fit.
				const n = 1500
				before := c.used()
				granted := make(chan commands.Reservation, 6)
				var group errgroup.Group
				for i := range cap(granted) {
					group.Go(func() error {
						made, err := ledgers[i%2].Reserve(context.Background(), c.id, n, operator)
						if domain.CodeOf(err) == domain.PaymentRequired {
							return nil
						}
						granted <- made
						return err
					})
				}
				require.NoError(r, group.Wait())
				close(granted)
				require.EqualValues(r, min(int64(cap(granted)), (freeLimit+c.credit-before)/n), len(granted))
				for made := range granted {
					c.open[made] = w.clock.Now().Add(longest)
					all = append(all, made)
				}
			},
		})
		b := w.books(c.id)
		require.Equal(r, c.settled, b.settled)
		require.Equal(r, c.credit, b.Credit)
	})
}

func oneOf(r *rapid.T, ledgers []*commands.Ledger) *commands.Ledger {
	return ledgers[rapid.IntRange(0, len(ledgers)-1).Draw(r, "ledger")]
}
