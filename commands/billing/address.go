package billing

import (
	"context"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// sendAddress sends the e-mail address of an account's owner to the provider, for receipts and reminders. It is part of
// every look at the provider, and the notices of a new customer and of each invoice's draft lead to a look. Its error
// is ignored because the next look repeats it.
func (b *Billing) sendAddress(ctx context.Context, id, customer string) {
	var address *string
	sealed, err := b.Address(ctx, id)
	if err == nil {
		address, err = keyring.OpenText(ctx, b.Keys, id, sealed, account.ForEmail)
	}
	if address != nil && *address != "" {
		attempt := payments.Attempt{ID: uuid.NewString(), First: b.now()} // an address may return to an earlier one
		err = b.Gateway.SetAddress(ctx, attempt, customer, *address)
	}
	if err != nil && ctx.Err() == nil {
		b.Logger.WarnContext(ctx, "the payment provider could not be sent the account's e-mail address", "account", id,
			"error", err)
	}
}
