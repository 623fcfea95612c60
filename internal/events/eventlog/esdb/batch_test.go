package esdb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// When the call of all appends ends, each of them learns its outcome as far as it is known: an acknowledged append was
// written, and one that was not sent was not.
func TestAppendsOnACallThatEnds(t *testing.T) {
	address := unixScheme + nodetest.Start(t)
	for round := range longtest.Times(40, 5) {
		// given appends to streams of their own, on a call that ends meanwhile
		dead, kill := context.WithCancel(t.Context())
		n, err := openNode(dead, address)
		require.NoError(t, err)
		var running sync.WaitGroup
		running.Go(n.run)
		outcomes := make([]error, 32)
		answered := make(chan struct{}, len(outcomes))
		for i := range outcomes {
			running.Go(func() {
				_, outcomes[i] = n.append(t.Context(), fmt.Sprint("s-", round, "-", i), eventlog.NoStream,
					[]eventlog.Proposed{{ID: uuid.New(), Type: "t", Data: []byte("{}")}})
				answered <- struct{}{}
			})
		}
		for range round % len(outcomes) {
			<-answered
		}
		kill()
		running.Wait()
		n.close()

		// then the log agrees with them
		reader, err := openNode(t.Context(), address)
		require.NoError(t, err)
		for i, outcome := range outcomes {
			p, err := reader.read(t.Context(), place{stream: fmt.Sprint("s-", round, "-", i)}, 2)
			require.NoError(t, err)
			switch {
			case outcome == nil:
				require.Len(t, p.events, 1, "an acknowledged append")
			case errors.Is(outcome, errUnsent):
				require.Empty(t, p.events, "an append that was not sent: %v", outcome)
			default:
				require.LessOrEqual(t, len(p.events), 1, "an append of unknown outcome")
			}
		}
		reader.close()
	}
}
