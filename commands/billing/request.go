package billing

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// answered is a request with the provider's answer.
type answered struct {
	subscription.Answered
	secret   string // of a subscription that was just created
	state    subscription.State
	position eventlog.Position
}

// request executes a request of an account's owner: it records the request, sends it to the provider, and records the
// provider's new state. A crash in between leaves the request open: its repetition, or the to-do process
// CompleteRequestProcess, continues it. The provider recognises the request by its id.
func (b *Billing) request(
	ctx context.Context, wanted subscription.Request, r domain.Repetition, origin journal.Origin,
) (answered, error) {
	ctx = waiting(ctx, wanted.Account)
	wanted.Request, wanted.Repetition, wanted.At = cmp.Or(wanted.Request, uuid.NewString()), r, b.now()
	state, position, err := b.record(ctx, &wanted, origin)
	if err != nil {
		return answered{}, err
	}
	id, err := wanted.Repeated(state)
	if err != nil {
		return answered{}, err
	}
	if state.Open == nil || state.Open.Request != id {
		return answer(state, position, id)
	}
	if r.Key != "" && id != wanted.Request && wanted.At.Sub(state.Open.At) < Patience {
		return answered{}, ErrUnderway
	}
	return b.complete(ctx, *state.Open, origin)
}

// waiting returns a context for calls for which an account's owner waits. They have priority at the provider.
func waiting(ctx context.Context, account string) context.Context {
	owner := payments.Caller{Account: account, Waiting: true}
	if payments.CallerOf(ctx) == owner {
		return ctx // of the same operation
	}
	return payments.WithCaller(ctx, owner)
}

// record appends the request, decided on the provider's current state.
func (b *Billing) record(
	ctx context.Context, wanted *subscription.Request, origin journal.Origin,
) (subscription.State, eventlog.Position, error) {
	listed, err := b.catalogue(ctx)
	if err != nil {
		return subscription.State{}, eventlog.Position{}, err
	}
	wanted.Catalogue = listed
	return journal.Execute(ctx, b.Journal, stream(wanted.Account),
		journal.Prepare(func(s subscription.State) (command, error) {
			look, err := b.glance(ctx, wanted.Account, s, false)
			return together(look, *wanted), err
		}), origin.Metadata(uuid.MustParse(wanted.Request), wanted.At))
}

// together returns commands as one.
func together(commands ...command) command {
	return journal.Sequence[subscription.State, subscription.Event]{Evolve: subscription.Evolve, Commands: commands}
}

// complete sends an open request to the provider, and records its end. A request that has ended in the meantime is not
// sent again, because that might undo a later one.
func (b *Billing) complete(ctx context.Context, open subscription.Requested, origin journal.Origin) (answered, error) {
	release, err := b.requests.lock(ctx, open.Account)
	if err != nil {
		return answered{}, err
	}
	defer release()
	s, version, err := b.State(ctx, open.Account)
	if err != nil {
		return answered{}, err
	}
	if s.Open == nil || s.Open.Request != open.Request {
		return answer(s, version.Position, open.Request)
	}
	done, err := b.carryOut(ctx, s, open, origin)
	var end command = done.Agree
	if err != nil {
		refused := refuse(open.Request, err)
		if refused.Reason == "" {
			return answered{}, refusal(err)
		}
		refused.At = b.now()
		end = refused
	}
	state, position, err := journal.Execute(ctx, b.Journal, stream(open.Account),
		journal.Prepare(func(s subscription.State) (command, error) {
			look, err := b.glance(ctx, open.Account, s, bills(open.Kind, s))
			return together(end, look), err
		}), origin.Metadata(uuid.New(), b.now()))
	if err != nil {
		return answered{}, err
	}
	a, err := answer(state, position, open.Request)
	a.secret = done.secret
	return a, err
}

// bills reports whether a request makes or pays invoices.
func bills(kind subscription.Kind, s subscription.State) bool {
	switch kind {
	case subscription.Subscribe, subscription.ChangePlan, subscription.End, subscription.EndDisputed:
		return true
	case subscription.ReplaceCard:
		return slices.ContainsFunc(s.Invoices, func(i subscription.Invoice) bool { return i.Status == "open" })
	}
	return false
}

// answer returns the outcome of a request.
func answer(s subscription.State, position eventlog.Position, request string) (answered, error) {
	a, found := s.Answer(request)
	if !found { // dropped from the state after many later requests
		return answered{}, ErrUnderway
	}
	return answered{Answered: a, state: s, position: position}, refusalOf(a.Reason, a.Decline, position)
}

// CompleteRequest continues the open request in a subscription's stream, if there is one. The cause is the event that
// opened it.
func (b *Billing) CompleteRequest(ctx context.Context, name string, cause uuid.UUID) (eventlog.Position, error) {
	account, origin := accountOfStream(name), journal.CausedBy(cause)
	state, position, err := b.observe(ctx, account, origin)
	switch {
	case err != nil:
		return eventlog.Position{}, err
	case state.Open == nil:
		return position, nil
	}
	if rest := Patience - b.now().Sub(state.Open.At); rest > 0 { // a later request than the listed one
		return eventlog.Position{}, &todo.NotYetError{After: rest}
	}
	done, err := b.complete(ctx, *state.Open, origin)
	if refused(err) {
		return done.position, nil
	}
	return done.position, err
}
