package todo

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// deaf is a list in a database that does not answer.
type deaf struct{ List }

func (deaf) Backlog(ctx context.Context, _ time.Time) (Backlog, error) {
	<-ctx.Done()
	return Backlog{}, ctx.Err()
}

func TestAScrapeWaitsForADeafDatabaseOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// given as many processes as there are in a service, on a database that does not answer
		metrics := NewMetrics()
		for i := range 15 {
			metrics.watch(Process{Name: fmt.Sprint("process", i), List: deaf{}})
		}
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(metrics)

		begun := time.Now()
		families, err := registry.Gather()

		// then the scrape is far from Prometheus' own limit of ten seconds, and has what needs no database
		require.NoError(t, err)
		require.NotEmpty(t, families)
		require.Equal(t, backlogTimeout, time.Since(begun))
	})
}
