package main_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReservationsOfAKilledRecitaldExpireAtTheNextStart(t *testing.T) {
	t.Parallel()
	// given a recitald that is killed in the middle of replies of at most 5 s
	data := dataFolder(t)
	first := start(t, data, "--longest-stream=5s")
	c := first.openAccount("free")
	streams := []*held{hold(t, c, long()), hold(t, c, long())}
	first.kill()
	killed := time.Now()

	// when it restarts after the reservations have expired (20.5 s are added for clients that do not read, and for settlements)
	for _, stream := range streams {
		require.Error(t, stream.rest().err)
	}
	first.eventually(func() bool { return time.Since(killed) > 26*time.Second })
	second := start(t, data)

	// then it ends the reservations at zero by itself, and not only a minute later, at its next check
	require.Eventually(t, func() bool { return second.readLog().openReservations() == 0 }, patience/2, pause)
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
