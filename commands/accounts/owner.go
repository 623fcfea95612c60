package accounts

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// RecordProfile records the owner's profile, sealed, if it has changed. Errors: domain.Invalid without a name or an
// e-mail address, the errors of the keyring.
func (a *Accounts) RecordProfile(
	ctx context.Context, id string, p account.Profile, origin journal.Origin,
) (eventlog.Position, error) {
	sealed, err := a.seal(ctx, id, p)
	if err != nil {
		return eventlog.Position{}, fmt.Errorf("sealing a profile: %w", err)
	}
	return a.execute(ctx, id, func(at time.Time) command {
		sealed.At = at
		return sealed
	}, origin)
}

// seal seals the fields of a profile that are not empty.
func (a *Accounts) seal(ctx context.Context, id string, p account.Profile) (sealed account.RecordProfile, err error) {
	for _, field := range []struct {
		to        *[]byte
		text, use string
	}{
		{&sealed.Name, p.Name, account.ForName}, {&sealed.Email, p.Email, account.ForEmail},
		{&sealed.Picture, p.Picture, account.ForPicture},
	} {
		if field.text == "" {
			continue
		}
		if *field.to, err = a.keys.Seal(ctx, id, []byte(field.text), field.use); err != nil {
			return account.RecordProfile{}, err
		}
	}
	whole, err := json.Marshal(struct {
		Account string
		account.Profile
	}{id, p}) // with the account, so that no digest shows that two accounts have one owner
	if err != nil {
		return account.RecordProfile{}, err
	}
	if sealed.Digest, err = a.fingerprint(ctx, whole, "profile"); err != nil {
		return account.RecordProfile{}, err
	}
	sealed.EmailHash, err = a.EmailHash(ctx, p.Email)
	return sealed, err
}

// EmailHash returns the HMAC of an e-mail address in hex, by which profiles are found.
func (a *Accounts) EmailHash(ctx context.Context, address string) (string, error) {
	return a.fingerprint(ctx, []byte(strings.ToLower(address)), "e-mail")
}

func (a *Accounts) fingerprint(ctx context.Context, data []byte, use string) (string, error) {
	sum, err := a.keys.Fingerprint(ctx, data, use)
	return hex.EncodeToString(sum), err
}

// AcceptTerms records that the owner accepts the terms of service.
func (a *Accounts) AcceptTerms(ctx context.Context, id string, origin journal.Origin) (eventlog.Position, error) {
	return a.execute(ctx, id, func(at time.Time) command { return account.AcceptTerms{At: at} }, origin)
}

// SetEmailPreferences sets whether the owner wants e-mail.
func (a *Accounts) SetEmailPreferences(
	ctx context.Context, id string, wantsEmail bool, origin journal.Origin,
) (eventlog.Position, error) {
	return a.execute(ctx, id,
		func(at time.Time) command { return account.SetEmailPreferences{WantsEmail: wantsEmail, At: at} }, origin)
}

// SetSpendingCap sets the account's spending cap, in minor units of a currency, or removes it. Errors: domain.Invalid
// for an amount that is out of bounds.
func (a *Accounts) SetSpendingCap(
	ctx context.Context, id string, amount *int64, currency string, origin journal.Origin,
) error {
	_, err := a.execute(ctx, id, func(at time.Time) command {
		return account.SetSpendingCap{Amount: amount, Currency: currency, At: at}
	}, origin)
	return err
}

// RevokeSessions ends all sessions of an account.
func (a *Accounts) RevokeSessions(ctx context.Context, id string, origin journal.Origin) (eventlog.Position, error) {
	return a.execute(ctx, id, func(at time.Time) command { return account.RevokeSessions{At: at} }, origin)
}

// SetOperator grants the role of an operator to an account, or withdraws it. Errors: domain.NotFound, domain.Rejected
// for a closed account.
func (a *Accounts) SetOperator(
	ctx context.Context, id string, operator bool, origin journal.Origin,
) (eventlog.Position, error) {
	return a.execute(ctx, id, func(at time.Time) command {
		if operator {
			return account.GrantOperator{By: origin.Actor.Name, At: at}
		}
		return account.WithdrawOperator{By: origin.Actor.Name, At: at}
	}, origin)
}
