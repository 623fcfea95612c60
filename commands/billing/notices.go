package billing

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/payment"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/providers/payments"
)

type keptNotice = journal.Cached[payment.State, payment.Event]

// notice returns this instance's cached copy of a notice, or a new notice. A copy is cached after its command, so that
// neither a repetition nor the end of the notice reads a stream. A cached notice that a restored log lacks returns with
// the next reconciliation.
func (b *Billing) notice(name string) *keptNotice {
	if kept, known := b.notices.Get(name); known && kept.Current() {
		return kept.Copy()
	}
	stream := noticeStream(name)
	stream.New = true
	return journal.NewCached(b.Journal, stream)
}

func noticeStream(name string) journal.Stream[payment.State, payment.Event] {
	return journal.Stream[payment.State, payment.Event]{Name: name, Evolve: payment.Evolve}
}

// RecordNotice records an event of the provider from a verified notice. Recording it again has no effect. Errors:
// domain.Invalid for an id that is not well formed.
func (b *Billing) RecordNotice(ctx context.Context, e payments.Event, analytics bool) (eventlog.Position, error) {
	name := payment.Stream(e.ID)
	if analytics {
		name = payment.AnalyticsStream(e.ID)
	}
	kept := b.notice(name)
	if kept.State().Exists() {
		return kept.Version().Position, nil
	}
	at := b.now()
	receive := payment.Receive{
		ID: e.ID, Kind: e.Type, Object: e.Object, Customer: e.Customer, Analytics: analytics, CreatedAt: e.CreatedAt.UTC(),
		At: at,
	}
	_, position, err := kept.Execute(ctx, receive, journal.System().Metadata(journal.DeriveID(name, "receive"), at))
	if err == nil {
		b.notices.Add(name, kept)
	}
	return position, err
}

// HandleNotice records the current state of a notice's object at the provider, and ends the notice. The name is the
// notice's stream, and the cause is its event. It returns a *todo.NotYetError while a request of the account is
// running.
func (b *Billing) HandleNotice(ctx context.Context, name string, cause uuid.UUID) (eventlog.Position, error) {
	kept := b.notice(name)
	if !kept.State().Exists() {
		if err := kept.Refresh(ctx); err != nil {
			return eventlog.Position{}, err
		}
	}
	state, received := kept.State(), kept.Version().Position
	if state.Handled {
		return received, nil
	}
	account, err := b.follow(ctx, state.Notice, received, journal.CausedBy(cause))
	if err != nil {
		return eventlog.Position{}, err
	}
	at := b.now()
	handle := payment.Handle{Account: account, At: at}
	_, position, err := kept.Execute(ctx, handle, journal.CausedBy(cause).Metadata(journal.DeriveID(name, "handle"), at))
	if err == nil {
		b.notices.Add(name, kept)
	}
	return position, err
}

// follow records the current state of the object that a notice reports as changed. It returns the notice's account, or
// "" for none.
func (b *Billing) follow(
	ctx context.Context, n payment.Received, received eventlog.Position, origin journal.Origin,
) (string, error) {
	switch area, _, _ := strings.Cut(n.Kind, "."); area {
	case "price", "product", "coupon":
		return "", b.fresh(ctx, catalogueLook, received, func(ctx context.Context) error {
			_, _, err := b.observeCatalogue(ctx, origin)
			return err
		})
	case "customer", "subscription_schedule", "invoice", "invoiceitem", "payment_method", "setup_intent", "payment_intent",
		"charge", "refund":
	default:
		return "", nil
	}
	account, err := b.accountOf(ctx, n)
	if err != nil || account == "" {
		return "", err
	}
	return account, b.fresh(ctx, account, received, func(ctx context.Context) error {
		// A running request makes further changes, and its own look would conflict with this one. The provider may take long,
		// and notices about other accounts should not wait for that.
		release, free := b.requests.tryLock(account)
		if !free {
			return &todo.NotYetError{After: requestPatience}
		}
		defer release()
		_, err := b.refresh(ctx, account, origin)
		return err
	})
}

// requestPatience is the pause of a notice while a request of its account is running.
const requestPatience = 500 * time.Millisecond

// catalogueLook is the key of looks at the catalogue. No account has this id.
const catalogueLook = "catalogue"

// fresh looks at the provider, unless a look began after a position of the log, so that a burst of notices costs one
// look.
func (b *Billing) fresh(
	ctx context.Context, of string, since eventlog.Position, look func(context.Context) error,
) error {
	release, err := b.looks.lock(ctx, of)
	if err != nil {
		return err
	}
	defer release()
	if begun, known := b.refreshed.Get(of); known && begun.Compare(since) >= 0 {
		return nil
	}
	head, err := b.Journal.Log.Head(ctx)
	if err != nil {
		return err
	}
	if err := look(ctx); err != nil {
		return err
	}
	b.refreshed.Add(of, head)
	return nil
}

// accountOf returns the account of a notice, or "" for none. The account's stream decides: the customer must be the one
// that was created for it.
func (b *Billing) accountOf(ctx context.Context, n payment.Received) (string, error) {
	customer := n.Customer
	if customer == "" {
		found, err := b.Gateway.CustomerOf(ctx, payments.Event{ID: n.ID, Type: n.Kind, Object: n.Object,
			CreatedAt: n.CreatedAt})
		if err != nil || found == "" {
			return "", unlessNotFound(err)
		}
		customer = found
	}
	if account, known := b.accounts.Get(customer); known {
		return account, nil
	}
	account, err := b.Views.AccountOf(ctx, customer)
	if err != nil {
		return "", err
	}
	if account != "" {
		b.accounts.Add(customer, account)
		return account, nil
	}
	account, err = b.Gateway.AccountOf(ctx, customer)
	if err != nil || account == "" {
		return "", unlessNotFound(err)
	}
	state, _, err := b.State(ctx, account)
	if err != nil || state.Account == "" || state.Customer != customer && state.Customer != "" {
		return "", err
	}
	return account, nil
}

// unlessNotFound returns nil if the provider does not know the object any more.
func unlessNotFound(err error) error {
	if errors.Is(err, payments.ErrNotFound) {
		return nil
	}
	return refusal(err)
}
