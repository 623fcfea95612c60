package ledger_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/commands/commandstest"
	commands "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/testing/proptest"
)

// customer is the expected state of a free account in its current period.
type customer struct {
	id      string
	open    map[commands.Reservation]*[2]time.Time // expiry on each ledger
	settled map[string]int64                       // by reservation
	credit  int64                                  // granted or carried in
	grants  map[string]int64                       // of this period and earlier ones
}

func (c *customer) expire(now time.Time) {
	for r, due := range c.open {
		if !due[0].After(now) || !due[1].After(now) {
			delete(c.open, r)
		}
	}
}

// see makes a ledger see all open reservations for the first time, as after a restart.
func (c *customer) see(ledger int, now time.Time) {
	for _, due := range c.open {
		due[ledger] = now.Add(commandstest.Longest)
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

// nextPeriod ends open reservations and keeps the unspent credit.
func (c *customer) nextPeriod() {
	clear(c.open)
	c.credit -= min(max(c.used()-commandstest.FreeLimit, 0), c.credit)
	clear(c.settled)
}

// For any commands on two instances, one of which is sometimes restarted, the account equals the result of one list of
// reservations, settlements and grants: a reservation is made exactly if it fits, and counts once; credit is available
// until it is spent, from period to period. The wall clock jumps meanwhile, which expires no reservation.
func TestAnyHistoryOfTwoInstances(t *testing.T) {
	w := newWorld(t)
	proptest.Check(t, 2, func(r *rapid.T) {
		c := customer{
			id: w.Open("free"), open: map[commands.Reservation]*[2]time.Time{}, settled: map[string]int64{},
			grants: map[string]int64{},
		}
		ledgers := []*commands.Ledger{w.NewLedger(), w.NewLedger()}
		defer func() {
			for _, l := range ledgers {
				l.Close()
			}
		}()
		var all []commands.Reservation                                        // including ended ones
		now := func() time.Time { return time.Time{}.Add(w.Clock.Elapsed()) } // without jumps
		r.Repeat(map[string]func(*rapid.T){
			"": func(r *rapid.T) {
				for _, l := range ledgers {
					_, err := l.Expire(context.Background(), w.Stream(c.id), "")
					require.NoError(r, err)
				}
				c.expire(now())
				require.LessOrEqual(r, c.used(), commandstest.FreeLimit+c.credit)
			},
			"reserve": func(r *rapid.T) {
				n := rapid.Int64Range(0, 7_000).Draw(r, "characters")
				made, err := oneOf(r, ledgers).Reserve(context.Background(), c.id, n, commandstest.Operator())
				if c.used()+n > commandstest.FreeLimit+c.credit {
					require.Equal(r, domain.PaymentRequired, domain.CodeOf(err), "%v", err)
					return
				}
				require.NoError(r, err)
				c.open[made] = &[2]time.Time{now().Add(commandstest.Longest), now().Add(commandstest.Longest)}
				all = append(all, made)
				remaining, limited := made.Allowance.Remaining()
				require.True(r, limited)
				require.Equal(r, commandstest.FreeLimit+c.credit-c.used(), remaining)
			},
			"grant": func(r *rapid.T) {
				id := fmt.Sprint("g", rapid.IntRange(0, len(c.grants)).Draw(r, "grant"))
				n, again := c.grants[id]
				if !again {
					n = rapid.Int64Range(1, 9_000).Draw(r, "characters")
				}
				_, err := oneOf(r, ledgers).GrantCredit(context.Background(), c.id, id, n, commandstest.Operator())
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
					if len(w.BooksOf(old).Events) > 0 {
						_, err := oneOf(r, ledgers).CarryCredit(context.Background(), old, uuid.New())
						require.NoError(r, err)
					}
				}
				for id := range c.grants { // the period after the next one would not know them any more
					if _, found := w.BooksOf(old).GrantOf(id); !found {
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
				w.Clock.Advance(time.Duration(rapid.IntRange(1, 300).Draw(r, "seconds")) * time.Second)
			},
			"restart": func(r *rapid.T) {
				i := rapid.IntRange(0, 1).Draw(r, "ledger")
				ledgers[i].Close()
				ledgers[i] = w.NewLedger()
				c.see(i, now())
			},
			"jump": func(r *rapid.T) {
				// Within the period, which depends on the wall clock.
				w.Clock.Jump(time.Duration(rapid.IntRange(0, 60).Draw(r, "minutes")) * time.Minute)
			},
			"at once": func(r *rapid.T) {
				// Both instances concurrently, so that they conflict: of six requests of the same size, as many are granted as fit.
				const n = 1500
				before := c.used()
				granted := make(chan commands.Reservation, 6)
				var group errgroup.Group
				for i := range cap(granted) {
					group.Go(func() error {
						made, err := ledgers[i%2].Reserve(context.Background(), c.id, n, commandstest.Operator())
						if domain.CodeOf(err) == domain.PaymentRequired {
							return nil
						}
						granted <- made
						return err
					})
				}
				require.NoError(r, group.Wait())
				close(granted)
				require.EqualValues(r, min(int64(cap(granted)), (commandstest.FreeLimit+c.credit-before)/n), len(granted))
				for made := range granted {
					c.open[made] = &[2]time.Time{now().Add(commandstest.Longest), now().Add(commandstest.Longest)}
					all = append(all, made)
				}
			},
		})
		b := w.Books(c.id)
		require.Equal(r, c.settled, b.SettledBy)
		require.Equal(r, c.credit, b.Credit)
	})
}

func oneOf(r *rapid.T, ledgers []*commands.Ledger) *commands.Ledger {
	return ledgers[rapid.IntRange(0, len(ledgers)-1).Draw(r, "ledger")]
}
