package billing_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/subscription"
)

// A lost dispute raises an alert before it is in the log, so that a crash cannot lose it. A won one raises none.
func TestADisputeThatIsLostIsAnAlert(t *testing.T) {
	t.Parallel()
	for _, won := range []bool{false, true} {
		s := newWorld(t)
		account := s.subscribed(indie)
		refresh := func() {
			s.Must(s.Refresh(t.Context(), account))
		}
		dispute, err := s.sandbox.Dispute(s.has(account).Invoices[0].ID)
		require.NoError(t, err)
		refresh()
		require.Empty(t, s.alerts(alert.DisputeLost), "it is open")
		require.Equal(t, "open", s.state(account).Invoices[0].Dispute)

		require.NoError(t, s.sandbox.CloseDispute(dispute, won))
		refresh()
		if won {
			require.Empty(t, s.alerts(alert.DisputeLost))
			require.Equal(t, "won", s.state(account).Invoices[0].Dispute)
			continue
		}
		refresh()
		require.Len(t, s.alerts(alert.DisputeLost), 1, "once")
		require.Equal(t, "10.00 USD of account "+account+" went back, and its plan stays",
			s.alerts(alert.DisputeLost)[0].Detail)
		require.False(t, slices.ContainsFunc(s.events(account), endsPlan), "it is no rule of the operator's")
		require.EqualValues(t, "indie", s.state(account).Entitled.Plan)
	}
}

// After a crash at any change while the subscription of a lost dispute ends, it ends once, by one request.
func TestALostDisputeEndsThePlanByTheOperatorsRule(t *testing.T) {
	s := newWorld(t)
	s.DisputeEndsPlan = true
	for at, done := 1, false; !done; at++ {
		for _, after := range commandstest.Sides(at) {
			account := s.disputed()
			name, lost := subscription.Stream(account), cause()
			f := &commandstest.Fuse{At: at, After: after}
			dying, ctx := s.mortal(t, f)
			_, err := dying.EndDisputed(ctx, name, lost)
			if done = !f.Blown(); !done {
				require.Error(t, err)
				_, err = s.EndDisputed(t.Context(), name, lost)
			}
			require.NoError(t, err)
			require.Equal(t, "canceled", s.has(account).Subscriptions[0].Status)
			s.Must(s.EndDisputed(t.Context(), name, lost))
			require.Equal(t, 1, s.countEnds(account))
			require.EqualValues(t, "free", s.state(account).Entitled.Plan)
			_, err = s.Subscribe(t.Context(), account, pro, none, origin)
			require.NoError(t, err, "the account may subscribe again")
		}
		require.True(t, !done || at > 2, "the crashes were none")
	}
}

// disputed returns an account with a lost dispute, observed twice.
func (s *world) disputed() (account string) {
	s.T.Helper()
	account = s.subscribed(indie)
	dispute, err := s.sandbox.Dispute(s.has(account).Invoices[0].ID)
	require.NoError(s.T, err)
	require.NoError(s.T, s.sandbox.CloseDispute(dispute, false))
	s.advance(time.Second, account)
	require.True(s.T, slices.ContainsFunc(s.events(account), endsPlan))
	lost := s.alerts(alert.DisputeLost)
	require.Contains(s.T, lost[len(lost)-1].Detail, "and its plan ends")
	before := len(s.events(account))
	s.advance(time.Second, account)
	require.Len(s.T, s.events(account), before)
	return account
}

func endsPlan(e subscription.Event) bool {
	lost, is := e.(subscription.InvoiceDisputed)
	return is && lost.EndsPlan
}

func (s *world) countEnds(account string) (n int) {
	for _, e := range s.events(account) {
		if wanted, is := e.(subscription.Requested); is && wanted.Kind == subscription.EndDisputed {
			n++
		}
	}
	return n
}
