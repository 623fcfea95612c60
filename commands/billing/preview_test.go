package billing_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/domain"
)

func TestAPreviewSaysWhatAnUpgradeCostsNow(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(indie)
	s.advance(10 * 24 * time.Hour)
	s.Must(s.Refresh(t.Context(), account))
	before, events := s.has(account), s.events(account)

	// when a change is previewed, then it is neither made nor recorded
	preview, err := s.PreviewChange(t.Context(), account, pro)
	require.NoError(t, err)
	require.False(t, preview.Downgrade)
	require.Equal(t, "usd", preview.Charge.Currency)
	require.Positive(t, preview.Charge.AmountDue)
	require.Equal(t, before, s.has(account))
	require.Equal(t, events, s.events(account))

	// and the change is charged as previewed, apart from the seconds in between
	s.Must(s.ChangePlan(t.Context(), account, pro, none, origin))
	require.InDelta(t, preview.Charge.AmountDue, s.has(account).Invoices[0].AmountPaid, 5)
}

func TestAPreviewOfADowngradeChargesNothing(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(pro)
	preview, err := s.PreviewChange(t.Context(), account, indie)
	require.NoError(t, err)
	require.True(t, preview.Downgrade)
	require.Zero(t, preview.Charge.AmountDue)
	require.Equal(t, "usd", preview.Charge.Currency)
	current, _ := s.state(account).Current()
	require.Equal(t, current.PeriodEnd, preview.EffectiveAt)
}

// The preview of a refused change is refused in the same way.
func TestAPreviewIsRefusedAsTheChangeIs(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(pro)
	for price, code := range map[string]domain.Code{pro: domain.Rejected, "price_of_nobody": domain.NotFound} {
		_, err := s.PreviewChange(t.Context(), account, price)
		require.Equal(t, code, domain.CodeOf(err), price)
	}
	_, err := s.PreviewChange(t.Context(), accounts.NewAccountID(), pro)
	require.Equal(t, domain.Rejected, domain.CodeOf(err))
}
