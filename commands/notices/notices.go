// Package notices sends notices to the owners of accounts and to the operators.
package notices

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/notice"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
	port "github.com/recital-tts/recital/internal/providers/notices"
)

// Names of the to-do lists.
const (
	MailProcess    = "mail_notice"
	WebhookProcess = "webhook_notice"
)

// Config configures Notices. Observe is optional.
type Config struct {
	Journal   *journal.Journal
	Accounts  Accounts
	Keys      keyring.Opener
	Operators string // the e-mail address of the operators; "" for none
	Now       func() time.Time
	Observe   func(notice.Channel, notice.Kind, notice.Outcome)

	// Address returns the sealed e-mail address of an account's owner from a read model; nil for none.
	Address func(ctx context.Context, account string) ([]byte, error)
}

// Accounts reads accounts.
type Accounts interface {
	State(ctx context.Context, id string) (account.State, eventlog.Revision, error)
}

// Notices sends notices.
type Notices struct{ Config }

// New returns a Notices.
func New(config Config) *Notices {
	if config.Observe == nil {
		config.Observe = func(notice.Channel, notice.Kind, notice.Outcome) {}
	}
	return &Notices{config}
}

// ID returns the id of a notice, which is the same at every repetition and on each channel.
func ID(item todo.Item) uuid.UUID { return uuid.NewSHA1(item.Cause, []byte(item.ID)) }

// Carry sends a notice on a channel, and records the outcome. After a crash in between it is sent again, under the same
// id. Errors: domain.Unavailable while the channel is down, a *todo.NotYetError while the notice is not accepted.
func (n *Notices) Carry(
	ctx context.Context, channel notice.Channel, sender port.Sender, item todo.Item,
) (eventlog.Position, error) {
	one, err := notice.Parse(item.ID)
	if err != nil {
		return eventlog.Position{}, err
	}
	id := ID(item)
	state, version, err := journal.Load(ctx, n.Journal, stream(item.Stream))
	if err != nil || state.Ended(channel, id.String()) {
		return version.Position, err
	}
	end := notice.End{Account: one.Account, Notice: id.String(), Kind: one.Kind, Channel: channel}
	switch {
	case state.Exceeds(channel, one.Account):
		end.Outcome = notice.Exceeded
	case n.Now().Sub(item.Due) > notice.Patience:
		end.Outcome = notice.Late
	default:
		if end.Outcome, err = n.send(ctx, channel, sender, one, item); err != nil {
			return eventlog.Position{}, err
		}
	}
	return n.record(ctx, end, item)
}

func (n *Notices) record(ctx context.Context, end notice.End, item todo.Item) (eventlog.Position, error) {
	end.At = n.Now().UTC()
	command := todo.CommandID(string(end.Channel), item.ID, item.Cause)
	_, position, err := journal.Execute(ctx, n.Journal, stream(item.Stream), end,
		journal.CausedBy(item.Cause).Metadata(command, end.At))
	if err == nil {
		n.Observe(end.Channel, end.Kind, end.Outcome)
	}
	return position, err
}

func stream(name string) journal.Stream[notice.State, notice.Event] {
	return journal.Stream[notice.State, notice.Event]{Name: name, Evolve: notice.Evolve}
}

// errAway pauses all notices of a channel.
var errAway = domain.Refuse(domain.Unavailable, "Notices cannot be sent now")

func (n *Notices) send(
	ctx context.Context, channel notice.Channel, sender port.Sender, one notice.Notice, item todo.Item,
) (notice.Outcome, error) {
	to, wanted, err := n.recipient(ctx, one.Account)
	switch {
	case err != nil:
		return "", err
	case !wanted, channel == notice.Mail && to == "":
		return notice.Unwanted, nil
	}
	err = sender.Send(ctx, port.Message{
		ID: ID(item).String(), Kind: string(one.Kind), Account: one.Account, To: to, Subject: one.Subject(),
		Body: one.Body(), At: item.Due.UTC(), Data: one.Details,
	})
	switch {
	case err == nil:
		return notice.Sent, nil
	case errors.Is(err, port.ErrRefused):
		return notice.Refused, nil
	case errors.Is(err, port.ErrLater):
		return "", &todo.NotYetError{After: n.pause(item.Due)}
	}
	return "", fmt.Errorf("%w: %w", errAway, err)
}

const shortestPause, longestPause = 30 * time.Second, time.Hour

// pause returns the time until the next attempt, which is the age of the notice, so that pauses double.
func (n *Notices) pause(due time.Time) time.Duration {
	return min(max(n.Now().Sub(due), shortestPause), longestPause)
}

// recipient returns the address of the owner of an account, or of the operators, or "" if there is none. A closed
// account wants no notices.
func (n *Notices) recipient(ctx context.Context, id string) (address string, wanted bool, err error) {
	if id == "" {
		return n.Operators, true, nil
	}
	state, _, err := n.Accounts.State(ctx, id)
	if err != nil || state.Closed() {
		return "", false, err
	}
	if state.WantsEmail != nil && !*state.WantsEmail {
		return "", true, nil
	}
	sealed, err := n.Address(ctx, id)
	if err != nil || len(sealed) == 0 {
		return "", true, err
	}
	opened, err := keyring.OpenText(ctx, n.Keys, id, sealed, account.ForEmail)
	if opened == nil {
		return "", false, err
	}
	return *opened, true, nil
}
