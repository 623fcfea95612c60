package main_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

func TestLosingPostgresLosesAndRepeatsNothing(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given settled reservations, and reservations of a killed recitald that its successor has expired
	data := dataFolder(t)
	first := start(t, data, "--longest-stream=5s")
	paid, free := first.openAccount("indie"), first.openAccount("free")
	attempts, expired := first.killInTheMiddle(paid, free)
	killed := time.Now()
	first.eventually(func() bool { return time.Since(killed) > 26*time.Second })
	second := start(t, data, "--longest-stream=5s")
	second.requireSettledBooks()
	before := second.outcomes()

	// and open reservations when recitald is killed and its whole Postgres is lost
	more, open := second.killInTheMiddle(paid.at(second), free.at(second))
	attempts = append(attempts, more...)
	second.losePostgres()

	// when recitald starts on an empty database, then it rebuilds the read models and expires the remaining reservations
	// when they are due
	third := start(t, data)
	third.abandonKeyring()
	third.requireReadModelsFollowLog()
	books := third.requireSettledBooks()
	for _, stream := range append(expired, open...) {
		require.True(t, books.expired[stream.generation])
		require.Zero(t, books.settled[stream.generation])
	}

	// and every reservation has ended once, earlier ones with their earlier outcome
	outcomes := third.outcomes()
	for reservation, events := range outcomes {
		require.Len(t, events, 1, "reservation %s", reservation)
	}
	for reservation, events := range before {
		require.Equal(t, events, outcomes[reservation])
	}

	// and the usage matches the received replies
	books.requireFair(t, attempts)
	paid, free = paid.at(third), free.at(third)
	books.requireAccountShows(t, paid, free)
	requireCounts(t, paid)
	requireCounts(t, free)
}

// killInTheMiddle kills recitald under load while each customer has an open stream.
func (s *server) killInTheMiddle(customers ...customer) (attempts []attempt, open []*held) {
	s.t.Helper()
	load := startLoad(s.t, customers[0])
	s.eventually(func() bool { return load.clean() >= enough })
	for _, c := range customers {
		open = append(open, hold(s.t, c, long()))
	}
	s.kill()
	attempts = load.stop()
	for _, stream := range open {
		attempts = append(attempts, stream.rest())
	}
	return attempts, open
}

// losePostgres stops the private Postgres of a killed recitald and removes its data.
func (s *server) losePostgres() {
	s.t.Helper()
	postmaster := s.postmaster()
	postmaster.kill(s.t)
	s.eventually(func() bool { return !postmaster.lives() })
	require.NoError(s.t, os.RemoveAll(filepath.Join(s.data, "postgres")))
}

// outcomes returns the ids of the events that ended reservations, by reservation.
func (s *server) outcomes() map[string][]uuid.UUID {
	s.t.Helper()
	outcomes := map[string][]uuid.UUID{}
	eachEvent(s.t, s.node(), func(event eventlog.Decoded) {
		switch e := event.Event.(type) {
		case ledger.Settled:
			outcomes[e.Reservation] = append(outcomes[e.Reservation], event.ID)
		case ledger.Expired:
			outcomes[e.Reservation] = append(outcomes[e.Reservation], event.ID)
		}
	})
	return outcomes
}
