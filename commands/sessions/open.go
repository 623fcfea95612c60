package sessions

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Open opens a session of an account. Errors: account.ErrNoAccount, account.ErrClosed.
func (s *Sessions) Open(
	ctx context.Context, id string, client session.Client, origin journal.Origin,
) (session.Issued, eventlog.Position, error) {
	at, err := s.opening(ctx, id)
	if err != nil {
		return session.Issued{}, eventlog.Position{}, err
	}
	cookie, err := session.DrawCookie(s.random)
	if err != nil {
		return session.Issued{}, eventlog.Position{}, err
	}
	open, err := s.describe(ctx, cookie.ID, id, client)
	if err != nil {
		return session.Issued{}, eventlog.Position{}, err
	}
	open.SecretHash, open.At, open.ExpiresAt = cookie.Hash(), at, at.Add(s.Limits.Length)
	_, position, err := journal.Execute(ctx, s.Journal, stream(cookie.ID), open, origin.Metadata(uuid.New(), at))
	if err != nil {
		return session.Issued{}, eventlog.Position{}, err
	}
	s.endSurplus(ctx, id, cookie.ID, position)
	return session.Issued{Cookie: cookie.Value(), ID: cookie.ID, ExpiresAt: open.ExpiresAt}, position, nil
}

// opening returns the time at which a session of an account opens, in microseconds, as in read models. It is later than
// the last time at which the account revoked all sessions, even if an instance with a clock ahead did that.
func (s *Sessions) opening(ctx context.Context, id string) (time.Time, error) {
	state, _, err := s.Accounts.State(ctx, id)
	switch {
	case err != nil:
		return time.Time{}, err
	case !state.Exists():
		return time.Time{}, account.ErrNoAccount
	case state.Closed():
		return time.Time{}, account.ErrClosed
	}
	now, revoked := s.Now().UTC().Truncate(time.Microsecond), state.SessionsRevokedAt.Truncate(time.Microsecond)
	if now.After(revoked) {
		return now, nil
	}
	return revoked.Add(time.Microsecond), nil
}

// describe seals the personal data of a client.
func (s *Sessions) describe(ctx context.Context, id, account string, client session.Client) (session.Open, error) {
	open := session.Open{Session: id, Account: account, Country: s.country(client), Provider: client.Provider,
		CrossSite: client.CrossSite}
	for _, personal := range []struct {
		text, purpose string
		to            *[]byte
	}{
		{deviceLabel(client.UserAgent), session.DeviceSealedFor(id), &open.Device},
		{client.Address, session.AddressSealedFor(id), &open.Address},
	} {
		if personal.text == "" {
			continue
		}
		sealed, err := s.Keys.Seal(ctx, account, []byte(personal.text), personal.purpose)
		if err != nil {
			return session.Open{}, fmt.Errorf("sealing a session: %w", err)
		}
		*personal.to = sealed
	}
	return open, nil
}

func (s *Sessions) country(client session.Client) string {
	if client.Country != "" || s.Countries == nil {
		return client.Country
	}
	return s.Countries(client.Address)
}

// endSurplus ends the oldest sessions of an account that has too many. After a failure the next sign-in ends them. Of
// concurrent sign-ins the last one in the log sees all others, so that their number settles at the limit.
func (s *Sessions) endSurplus(ctx context.Context, account, opened string, at eventlog.Position) {
	if s.Shown == nil {
		return
	}
	ids, err := s.Shown(ctx, account, at)
	kept := 1 // the new one
	for _, id := range ids {
		if id == opened {
			continue
		}
		if kept++; kept > s.Limits.Live && err == nil {
			err = s.endAs(ctx, account, id, session.Surplus)
		}
	}
	if err != nil {
		s.Logger.WarnContext(ctx, "the oldest sessions of an account are left to the next sign-in", "account", account,
			"error", err)
	}
}

func (s *Sessions) endAs(ctx context.Context, account, id string, reason session.Reason) error {
	at := s.Now().UTC()
	end := session.End{Account: account, Reason: reason, At: at}
	_, _, err := journal.Execute(ctx, s.Journal, stream(id), end, journal.System().Metadata(uuid.New(), at))
	if domain.CodeOf(err) == domain.NotFound { // it has ended, but the read model does not show that yet
		return nil
	}
	return err
}
