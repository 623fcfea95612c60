package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

func TestReservationsOfAKilledRecitaldExpireAfterTheNextStart(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given a recitald that is killed during replies, with --longest-stream=5s
	data := dataFolder(t)
	first := start(t, data, "--longest-stream=5s")
	c := first.openAccount("free")
	streams := []*held{hold(t, c, long()), hold(t, c, long())}
	first.kill()

	// when it restarts immediately
	for _, stream := range streams {
		require.Error(t, stream.rest().err)
	}
	second := start(t, data)

	// then the reservations expire unbilled after their own lifetime, not after that of the new setting. (20.5 s are added
	// for clients that do not read, and for settlements.)
	require.Eventually(t, func() bool { return second.readLog().openReservations() == 0 }, 2*patience, pause)
	books := second.requireSettledBooks()
	for _, stream := range streams {
		require.True(t, books.expired[stream.generation])
	}
	c = c.at(second)
	require.Zero(t, c.usage(t))

	// and the account has all of its characters
	require.True(t, c.try(slowly(), speech{bytesRoute, "mp3", 5000}).clean())
	require.EqualValues(t, 5000, c.usage(t))
}
