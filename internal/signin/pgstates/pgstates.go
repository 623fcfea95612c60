// Package pgstates keeps sign-ins that have begun in Postgres, so that a browser may come back to another instance.
package pgstates

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/signin"
)

// States implements signin.States.
type States struct{ pool *pgxpool.Pool }

// New returns the States of a database.
func New(pool *pgxpool.Pool) *States { return &States{pool: pool} }

var errUnavailable = domain.Refuse(domain.Unavailable, "The database does not answer")

// Keep implements signin.States. Sign-ins that begin at the same moment may exceed the limit by their number, which that of
// the connections to Postgres bounds.
func (s *States) Keep(ctx context.Context, p signin.Pending, perAddress int, now time.Time) error {
	tag, err := s.pool.Exec(ctx, `
		insert into signin.states (state, browser, address, provider, callback, redirect, utm_source, nonce, verifier, expires_at)
		select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10
		where $11 = 0 or (select count(*) from (select from signin.states where address = $3 and expires_at > $12 limit $11) held) < $11`,
		p.State[:], p.Browser[:], p.Address, p.Provider, p.Callback, p.Redirect, p.UTMSource, p.Nonce, p.Verifier, p.ExpiresAt, perAddress, now)
	if err != nil {
		return failed(ctx, "keeping a sign-in", err)
	}
	if tag.RowsAffected() == 0 {
		return signin.ErrTooMany
	}
	return nil
}

// Take implements signin.States. Another browser's attempt does not use the state up.
func (s *States) Take(ctx context.Context, state, browser [32]byte, now time.Time) (signin.Pending, error) {
	p := signin.Pending{State: state, Browser: browser}
	err := s.pool.QueryRow(ctx, `
		delete from signin.states where state = $1 and browser = $2 and expires_at > $3
		returning address, provider, callback, redirect, utm_source, nonce, verifier, expires_at`, state[:], browser[:], now).
		Scan(&p.Address, &p.Provider, &p.Callback, &p.Redirect, &p.UTMSource, &p.Nonce, &p.Verifier, &p.ExpiresAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return signin.Pending{}, signin.ErrUnusable
	}
	if err != nil {
		return signin.Pending{}, failed(ctx, "taking a sign-in", err)
	}
	return p, nil
}

// Sweep implements signin.States.
func (s *States) Sweep(ctx context.Context, now time.Time) error {
	if _, err := s.pool.Exec(ctx, `delete from signin.states where expires_at <= $1`, now); err != nil {
		return failed(ctx, "sweeping sign-ins", err)
	}
	return nil
}

func failed(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w: %w", doing, errUnavailable, err)
}
