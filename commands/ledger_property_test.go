package commands_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/domain"
)

// customer is a free account as a test expects it to be.
type customer struct {
	id      string
	open    map[commands.Reservation]time.Time // when it expires
	settled map[string]int64                   // by reservation
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

// Whatever commands two instances carry out, one of which is restarted now and then, the account is what one list of
// reservations and settlements comes to: a reservation is granted exactly when it fits, and counts once.
func TestAnyHistoryOfTwoInstances(t *testing.T) {
	w := newWorld(t)
	rapid.Check(t, func(r *rapid.T) {
		c := customer{id: w.open("free"), open: map[commands.Reservation]time.Time{}, settled: map[string]int64{}}
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
				require.LessOrEqual(r, c.used(), int64(freeLimit))
			},
			"reserve": func(r *rapid.T) {
				n := rapid.Int64Range(0, 7_000).Draw(r, "characters")
				made, err := oneOf(r, ledgers).Reserve(context.Background(), c.id, n, operator)
				if c.used()+n > freeLimit {
					require.Equal(r, domain.PaymentRequired, domain.CodeOf(err), "%v", err)
					return
				}
				require.NoError(r, err)
				c.open[made] = w.clock.Now().Add(longest)
				all = append(all, made)
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
				require.EqualValues(r, min(int64(cap(granted)), (freeLimit-before)/n), len(granted))
				for made := range granted {
					c.open[made] = w.clock.Now().Add(longest)
					all = append(all, made)
				}
			},
		})
		b := w.books(c.id)
		if len(all) == 0 {
			return
		}
		require.Equal(r, c.settled, b.settled)
	})
}

func oneOf(r *rapid.T, ledgers []*commands.Ledger) *commands.Ledger {
	return ledgers[rapid.IntRange(0, len(ledgers)-1).Draw(r, "ledger")]
}
