package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
)

// CloseProcess is the name of the to-do list of closed accounts: their work is ended and their data erased.
const CloseProcess = "close_account"

// Close closes an account permanently: its credentials are refused from then on. Closing it again has no effect.
// Errors: domain.NotFound; domain.Unavailable if an event of the account cannot be decoded.
func (a *Accounts) Close(ctx context.Context, id string, origin journal.Origin) (eventlog.Position, error) {
	position, err := a.execute(ctx, id, func(at time.Time) command { return account.Close{At: at} }, origin)
	if eventlog.IsUndecodable(err) {
		err = fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return position, err
}

var errUnreadable = domain.Refuse(domain.Unavailable, "An event of this account cannot be read by this release; an "+
	"operator can skip it (recitalctl projections parked)")

// Closed reports whether an account was closed, whether or not the other events of its stream can be decoded.
func Closed(ctx context.Context, j *journal.Journal, id string) (bool, error) {
	return journal.Happened[account.Event](ctx, j, account.Stream(id), account.Closed{}, account.ClosedInSnapshot)
}

// Closing configures the steps of a closing.
type Closing struct {
	// End ends subscriptions and other continuing work for an account. While it has to wait it returns a
	// *todo.NotYetError: Erase waits for it no longer than Patience.
	End      func(ctx context.Context, account string) error
	Patience time.Duration
	// Erase erases the data of an account, its key last. Like End it is called again after a crash, and once more when no
	// request of the account can still be running. After a *todo.NotYetError it is called again until it is complete.
	Erase func(ctx context.Context, account string) error
	// Longest is the maximum time for which a request of the account may run after the closing.
	Longest time.Duration
}

// GoOn executes the due steps of an account's closing, because of an event of its stream at the time since. It returns
// the position of the outcome.
func (a *Accounts) GoOn(
	ctx context.Context, id string, cause uuid.UUID, since time.Time, with Closing,
) (eventlog.Position, error) {
	kept := journal.NewCached(a.journal, stream(id))
	if err := kept.Refresh(ctx); err != nil {
		return eventlog.Position{}, err
	}
	at := a.now().UTC()
	var outcome command = account.RecordErasure{At: at, AgainAt: at.Add(with.Longest)}
	if kept.State().Closing == account.ErasedOnce {
		outcome = account.RecordRepeatedErasure{At: at}
	}
	// the data of an open account is never erased
	if due, err := outcome.Decide(kept.State()); err != nil || len(due) == 0 {
		return kept.Version().Position, err
	}
	if err := with.carryOut(ctx, id, at.Sub(since)); err != nil {
		return eventlog.Position{}, fmt.Errorf("erasing a closed account: %w", err)
	}
	meta := journal.CausedBy(cause).Metadata(todo.CommandID(CloseProcess, id, cause), at)
	_, position, err := kept.Execute(ctx, outcome, meta)
	return position, err
}

// carryOut ends and erases an account that has waited for a time.
func (c Closing) carryOut(ctx context.Context, id string, waited time.Duration) error {
	ended := c.End(ctx, id)
	var notYet *todo.NotYetError
	if ended != nil && (!errors.As(ended, &notYet) || waited < c.Patience) {
		return ended
	}
	return errors.Join(ended, c.Erase(ctx, id))
}
