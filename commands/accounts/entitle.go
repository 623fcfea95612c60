package accounts

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
)

// EntitleProcess is the name of the to-do list of entitlements that subscriptions grant and their accounts' streams
// lack.
const EntitleProcess = "entitle"

// Entitle puts an account on the plan of an event in its subscription's stream, at a revision. It has no effect for an
// event older than the last one that the account followed, or when repeated. cause is the id of the event. It returns
// the position of the outcome. Errors: domain.NotFound, domain.Invalid for an unknown plan.
func (a *Accounts) Entitle(
	ctx context.Context, id string, e plan.Entitlement, revision int64, cause uuid.UUID,
) (eventlog.Position, error) {
	at := a.entitled().UTC()
	meta := journal.CausedBy(cause).Metadata(todo.CommandID(EntitleProcess, id, cause), at)
	_, position, err := journal.Execute(ctx, a.journal, stream(id),
		command(account.Entitle{Entitlement: e, Revision: revision, At: at}), meta)
	return position, err
}

// FollowSubscription grants an account, given by its stream, the last entitlement in its subscription's stream.
func (a *Accounts) FollowSubscription(ctx context.Context, accountStream string) (eventlog.Position, error) {
	id := strings.TrimPrefix(accountStream, account.StreamPrefix)
	for recorded, err := range a.journal.Log.ReadStreamBackwards(ctx, subscription.Stream(id)) {
		if err != nil {
			return eventlog.Position{}, fmt.Errorf("reading the subscription of an account: %w", err)
		}
		decoded, err := a.journal.Registry.Decode(recorded)
		if err != nil {
			return eventlog.Position{}, fmt.Errorf("reading the subscription of an account: %w", err)
		}
		if last, is := decoded.Event.(subscription.Entitled); is {
			return a.Entitle(ctx, id, last.Entitlement, int64(recorded.Revision), recorded.ID)
		}
	}
	return eventlog.Position{}, nil
}
