package billing_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A dispute that is lost is an alert before it is in the log, so that no crash can swallow it; one that is won is none.
func TestADisputeThatIsLostIsAnAlert(t *testing.T) {
	t.Parallel()
	for _, won := range []bool{false, true} {
		s := newShop(t)
		account := s.subscribed(indie)
		refresh := func() {
			_, err := s.Refresh(t.Context(), account)
			require.NoError(t, err)
		}
		dispute, err := s.sandbox.Dispute(s.has(account).Invoices[0].ID)
		require.NoError(t, err)
		refresh()
		require.Empty(t, s.lost, "it is open")
		require.Equal(t, "open", s.state(account).Invoices[0].Dispute)

		require.NoError(t, s.sandbox.CloseDispute(dispute, won))
		refresh()
		if won {
			require.Empty(t, s.lost)
			require.Equal(t, "won", s.state(account).Invoices[0].Dispute)
			continue
		}
		require.Len(t, s.lost, 1)
		require.EqualValues(t, 1000, s.lost[0].Amount)
		refresh()
		require.Len(t, s.lost, 1, "once")
	}
}
