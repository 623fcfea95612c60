// Package circuit keeps requests from a provider that is down, so that an outage costs nobody a timeout.
package circuit

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sony/gobreaker/v2"
)

// Breaker is the circuit to a provider.
type Breaker = gobreaker.TwoStepCircuitBreaker[struct{}]

// failuresToOpen is the number of consecutive failures that mean an outage.
const failuresToOpen = 5

// New returns the circuit to a provider, such as "the blob store". Once it has opened, it refuses requests for a pause,
// 5 s if that is 0, and then lets one of them try.
func New(provider string, pause time.Duration, log *slog.Logger) *Breaker {
	return gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        provider,
		MaxRequests: 1,
		Timeout:     cmp.Or(pause, 5*time.Second),
		ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= failuresToOpen },
		IsExcluded:  func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			if from == gobreaker.StateClosed || to == gobreaker.StateClosed { // and not each try in between
				log.Warn("the circuit to "+provider+" changed", "state", to.String())
			}
		},
	})
}
