// Package pause waits between attempts.
package pause

import (
	"context"
	"time"
)

// For waits for a duration. It returns the context's error if ctx ends first.
func For(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
