package stripe

import (
	"context"
	"fmt"
	"time"

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
)

// change is one request that changes something, as a step of an attempt.
type change struct {
	step string
	made func() (bool, error)   // looks whether it was made, in an attempt before
	make func(key string) error // the provider takes requests with one key for one
	look bool                   // even where no attempt before is likely
}

// once makes a change unless it was made. A refusal may mean that it was, by a request whose answer was lost: so that
// is looked up before it is believed. When the provider fails, it gives the same answer again for the same key: if the
// change was not made, it is attempted under the next key.
func (g *Gateway) once(ctx context.Context, a payments.Attempt, c change) error {
	if c.look || g.now().Sub(a.First) > fresh {
		if made, err := c.made(); err != nil || made {
			return err
		}
	}
	var err error
	for n := range keys {
		err = g.ask(ctx, func() error { return c.make(key(a, c.step, n)) })
		doubtful, replayed := isDoubtful(err)
		if !doubtful {
			return err
		}
		if made, lookErr := c.made(); lookErr == nil && made {
			return nil
		}
		if !replayed {
			return err
		}
	}
	return err
}

func key(a payments.Attempt, step string, n int) string {
	if n == 0 {
		return a.ID + "/" + step
	}
	return fmt.Sprintf("%s/%s/%d", a.ID, step, n)
}
