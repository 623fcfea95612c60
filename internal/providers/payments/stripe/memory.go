package stripe

import (
	"context"
	"time"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/providers/payments"
)

// remembering is how long what was read is known within one operation.
const remembering = 10 * time.Second

// known is an object as it was at a time.
type known struct {
	object any
	at     time.Time
}

// remember keeps an object for the rest of an operation, or until the operation changes something.
func remember[T any](ctx context.Context, id string, object *T) {
	if kept := payments.Kept(ctx); kept != nil {
		kept.Store(id, known{object, time.Now()})
	}
}

// recall returns an object that was remembered, or nil.
func recall[T any](ctx context.Context, id string) *T {
	kept := payments.Kept(ctx)
	if kept == nil {
		return nil
	}
	value, found := kept.Load(id)
	if k, ok := value.(known); found && ok && time.Since(k.at) < remembering {
		object, _ := k.object.(*T)
		return object
	}
	return nil
}

// forget drops all that was remembered.
func forget(ctx context.Context) {
	if kept := payments.Kept(ctx); kept != nil {
		kept.Clear()
	}
}

// rememberMade keeps a subscription that a request has created or changed, if it has all that is shown of one and the
// provider has not given this answer before.
func rememberMade(ctx context.Context, made any) {
	s, is := made.(*stripe.Subscription)
	if !is {
		return
	}
	whole := (s.Schedule == nil || s.Schedule.Object != "") &&
		(s.DefaultPaymentMethod == nil || s.DefaultPaymentMethod.Object != "")
	if whole && !isReplayed(s.LastResponse) {
		remember(ctx, s.ID, s)
	}
}

// isReplayed reports whether an answer was given before for the same key. What it says may be out of date.
func isReplayed(answer *stripe.APIResponse) bool {
	return answer != nil && answer.Header.Get("Idempotent-Replayed") == "true"
}
