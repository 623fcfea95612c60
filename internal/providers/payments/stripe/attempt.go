package stripe

import (
	"context"
	"fmt"
	"time"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/providers/payments"
)

const (
	// fresh is how long after the first attempt a change is attempted again without looking for it. The provider
	// remembers keys for 24 hours by its own clock; to look is cheap, and happens only after a crash.
	fresh = time.Minute
	// keys bounds how many of an attempt's keys a failing provider may spoil.
	keys = 4
	// skew is by how much the provider's clock may be behind.
	skew = time.Hour
)

// The metadata of objects.
const (
	metaAttempt = "attempt" // that has created it
	metaChange  = "change"  // the last attempt that has changed it
	metaAccount = "account"
	metaUsage   = "usage"
	metaLength  = "characters"
	metaAddress = "address" // hash of the e-mail address that was told
)

// change is one request that changes something, as a step of an attempt. It is about an object of the provider.
type change[T any] struct {
	step string
	read func() (*T, error) // returns the object as it is, nil if there is none
	made func(*T) bool      // reports whether the change was made; nil: it is made if the object exists
	make func(params stripe.Params, now *T) (*T, error)
	look bool // reads the object first even if an earlier attempt is unlikely, so that make is called with it
}

func (c change[T]) isMade(object *T) bool { return object != nil && (c.made == nil || c.made(object)) }

// once makes a change unless it was made. A refusal may mean that it was, by a request whose answer was lost: so the
// object is read before the refusal is believed. When the provider fails, it gives the same answer again for the same
// key: if the change was not made, it is attempted under the next key.
func once[T any](ctx context.Context, g *Gateway, a payments.Attempt, c change[T]) (object *T, err error) {
	if c.look || g.now().Sub(a.First) > fresh {
		if object, err = c.read(); err != nil || c.isMade(object) {
			return object, err
		}
	}
	var failed error
	for n := range keys {
		forget(ctx)
		made, err := read(ctx, g, func() (*T, error) { return c.make(withKey(a, c.step, n), object) })
		doubtful, replayed := isDoubtful(err)
		if !doubtful {
			if err == nil && made != object {
				rememberMade(ctx, made)
			}
			return made, err
		}
		again, lookErr := c.read()
		if lookErr == nil && c.isMade(again) {
			return again, nil
		}
		if !replayed {
			return nil, err
		}
		if failed = err; lookErr == nil {
			object = again
		}
	}
	return nil, failed
}

// withKey returns parameters with the idempotency key of a step: the provider carries out one request with it.
func withKey(a payments.Attempt, step string, n int) stripe.Params {
	key := a.ID + "/" + step
	if n > 0 {
		key = fmt.Sprintf("%s/%d", key, n)
	}
	return stripe.Params{IdempotencyKey: &key}
}

// done drops the object that the provider returns for a change.
func done(_ any, err error) error { return err }

// since restricts a list to what an attempt may have created.
func since(a payments.Attempt) *stripe.RangeQueryParams {
	return &stripe.RangeQueryParams{GreaterThanOrEqual: a.First.Add(-skew).Unix()}
}
