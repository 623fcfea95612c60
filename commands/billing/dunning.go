package billing

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
)

// Lapse withdraws the plan of a subscription at the end of its grace, unless it was paid in the meantime, and raises an
// alert. The name is the subscription's stream, and the cause is the event that began the grace. The alert is raised
// first, because the item is done once the plan is withdrawn.
func (b *Billing) Lapse(ctx context.Context, name string, cause uuid.UUID) (eventlog.Position, error) {
	account, at := accountOfStream(name), b.now()
	state, position, err := journal.Execute(ctx, b.Journal, stream(account),
		journal.Prepare(func(s subscription.State) (command, error) {
			look, err := b.look(ctx, account, s)
			if err != nil {
				return nil, err
			}
			lapse := together(look, subscription.Lapse{At: at})
			return lapse, b.alertLapse(ctx, lapse, s, cause)
		}), journal.CausedBy(cause).Metadata(uuid.New(), at))
	if err != nil {
		return eventlog.Position{}, err
	}
	// another grace period than the listed one
	if current, found := state.Current(); found && !current.Lapsed && current.GraceEnds.After(at) {
		return eventlog.Position{}, &todo.NotYetError{After: current.GraceEnds.Sub(at)}
	}
	return position, nil
}

// alertLapse raises the alert if a command is about to let a subscription lapse.
func (b *Billing) alertLapse(ctx context.Context, lapse command, s subscription.State, cause uuid.UUID) error {
	events, err := lapse.Decide(s)
	if err != nil {
		return err
	}
	for _, event := range events {
		if e, is := event.(subscription.Lapsed); is {
			return b.Alert(ctx, Occasion{
				Source: alert.ToDoSource(DunningProcess), Subject: e.Account, Reason: alert.Unpaid, Cause: cause, At: e.At,
				Detail: fmt.Sprintf("the subscription %s was not paid in time, and its plan is withdrawn", e.Subscription),
			})
		}
	}
	return nil
}
