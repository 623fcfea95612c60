package billing_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	api "github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/domain/account"
)

func (s *world) reachedAt(id, address string) {
	s.T.Helper()
	sealed, err := s.keys.Seal(s.T.Context(), id, []byte(address), account.ForEmail)
	require.NoError(s.T, err)
	s.addresses.Store(id, sealed)
}

func (s *world) told(id string) string {
	s.T.Helper()
	address, err := s.sandbox.EmailOf(s.state(id).Customer)
	require.NoError(s.T, err)
	return address
}

// The provider knows the address from the first look, caused by its notice of the new customer, and a new address from
// the next look. An address that was set by hand stays, and the log has no address.
func TestTheProviderIsToldTheAddress(t *testing.T) {
	s := newWorld(t)
	id := accounts.NewAccountID()
	s.reachedAt(id, "ada@example.com")
	made, err := s.Subscribe(t.Context(), id, indie, none, origin)
	require.NoError(t, err)
	s.advance(time.Second, id)
	require.Equal(t, "ada@example.com", s.told(id))
	s.pay(made, "pm_card_visa")

	s.reachedAt(id, "ada@example.org")
	s.advance(time.Second, id)
	require.Equal(t, "ada@example.org", s.told(id))

	_, err = s.api.V1Customers.Update(t.Context(), s.state(id).Customer,
		&api.CustomerUpdateParams{Email: new("accounts@example.com")})
	require.NoError(t, err)
	s.advance(time.Second, id)
	require.Equal(t, "accounts@example.com", s.told(id))
	require.NotContains(t, fmt.Sprintf("%+v", s.events(id)), "@example")
}

// An address that the provider refuses prevents no subscription, and is not logged.
func TestAnAddressThatIsRefusedHoldsNothingUp(t *testing.T) {
	s := newWorld(t)
	var log bytes.Buffer
	s.Logger = slog.New(slog.NewTextHandler(&log, nil))
	id := accounts.NewAccountID()
	s.reachedAt(id, "nowhere")
	s.Must(s.Subscribe(t.Context(), id, indie, none, origin))
	s.advance(time.Second, id)
	require.Empty(t, s.told(id))
	require.Contains(t, log.String(), "could not be sent the account's e-mail address")
	require.NotContains(t, log.String(), "nowhere")

	require.NoError(t, s.keys.Erase(t.Context(), id))
	s.advance(time.Second, id)
	require.Empty(t, s.told(id))
}
