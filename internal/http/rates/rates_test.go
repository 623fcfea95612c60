package rates_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/rates"
)

func limiter(t testing.TB, limits rates.Limits) *rates.Limiter {
	t.Helper()
	l := rates.New(limits)
	return l
}

// permitted returns the number of immediately permitted requests.
func permitted(may func() bool) (n int) {
	for n < 10_000 && may() {
		n++
	}
	return n
}

func TestAnAccountHasTheRateOfItsPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, rates.Limits{Accounts: map[string]int{"free": 5, "pro": 50}})
		account := func(id, plan string) func() bool { return func() bool { return l.Account(id, plan) } }

		// a burst of four seconds, then the rate, separately for each account
		require.Equal(t, 20, permitted(account("a", "free")))
		require.Equal(t, 20, permitted(account("b", "free")))
		time.Sleep(2 * time.Second)
		require.Equal(t, 10, permitted(account("a", "free")))

		// another plan takes effect immediately, and a plan without a limit is not limited
		require.False(t, l.Account("a", "pro"))
		time.Sleep(time.Minute)
		require.Equal(t, 200, permitted(account("a", "pro")))
		require.Equal(t, 10_000, permitted(account("a", "enterprise")))
		require.Equal(t, 10_000, permitted(func() bool { return (*rates.Limiter)(nil).Account("a", "free") }))
	})
}

func TestChangesThatCostNothingHaveABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, rates.Limits{Accounts: map[string]int{"free": 50, "pro": 500}})
		changes := func(id, plan string) func() bool { return func() bool { return l.FreeChange(id, plan) } }
		require.Equal(t, 1000, permitted(changes("a", "free")))
		require.Equal(t, 1000, permitted(changes("b", "free")))
		require.True(t, l.Account("a", "free"), "its other requests are permitted")
		time.Sleep(time.Minute)
		require.Equal(t, 6, permitted(changes("a", "free")))
		accounts, _ := l.Over()
		require.EqualValues(t, 3, accounts)

		// a free account cannot change anything more often than 9,640 times a day
		for range 24 * 60 {
			time.Sleep(time.Minute)
			require.LessOrEqual(t, permitted(changes("a", "free")), 6)
		}
		require.Equal(t, 10_000, permitted(changes("c", "enterprise")), "without a rate there is no budget")
		require.Equal(t, 10_000, permitted(func() bool { return (*rates.Limiter)(nil).FreeChange("a", "free") }))
	})
}

func TestASessionWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, rates.Limits{Accounts: map[string]int{"free": 5}})
		begun := time.Now()
		for range 25 {
			require.NoError(t, l.WaitAccount(t.Context(), "a", "free"))
		}
		require.Equal(t, time.Second, time.Since(begun))

		ctx, cancel := context.WithCancelCause(t.Context())
		reset := errors.New("reset")
		cancel(reset)
		require.ErrorIs(t, l.WaitAccount(ctx, "a", "free"), reset)
		require.NoError(t, l.WaitAccount(ctx, "a", "enterprise"))
	})
}

func TestEachAddressHasARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, rates.Limits{Address: 5})
		address := func(text string) func() bool { return func() bool { return l.Address(netip.MustParseAddr(text)) } }
		require.Equal(t, 20, permitted(address("192.0.2.1")))
		require.Equal(t, 20, permitted(address("192.0.2.2")))
		require.Equal(t, 20, permitted(address("2001:db8::1")))
		require.Equal(t, 10_000, permitted(func() bool { return l.Address(netip.Addr{}) }))
		require.Equal(t, 10_000,
			permitted(func() bool { return limiter(t, rates.Limits{}).Address(netip.MustParseAddr("192.0.2.1")) }))
	})
}

func TestManyAddressesTakeNoMoreMemoryThanTheLimit(t *testing.T) {
	l := limiter(t, rates.Limits{Address: 1})
	for i := range 200_000 {
		l.Address(netip.MustParseAddr(fmt.Sprintf("2001:db8:%x:%x::", i>>16, i&0xffff)))
	}
	require.LessOrEqual(t, l.Remembered(), 1<<16)
}
