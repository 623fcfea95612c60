package main_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// enough is how many requests of a load have to end cleanly before something is killed, and again after it.
const enough = 20

func TestNothingAcknowledgedIsLostWhenRecitaldIsKilled(t *testing.T) {
	t.Parallel()
	// given several accounts with clients at work, some of them in the middle of a reply
	data := dataFolder(t)
	first := start(t, data)
	customers := []customer{first.openAccount("indie"), first.openAccount("pro"), first.openAccount("free")}
	whole := listen(t, first.operator(), everyKind()...)
	streams := []*held{hold(t, customers[0], long()), hold(t, customers[1], long())}
	load := startLoad(t, customers...)
	first.eventually(func() bool { return load.clean() >= enough })

	// when recitald is killed
	first.kill()
	attempts := load.stop()

	// then the clients in the middle of a reply see that it was cut
	for _, stream := range streams {
		cut := stream.rest()
		require.Error(t, cut.err)
		attempts = append(attempts, cut)
	}
	whole.requireWhole(t, attempts)

	// and after a restart everything that was acknowledged is there, and nothing is counted twice or too high
	second := start(t, data)
	books := second.requireReadModelsFollowLog()
	books.requireFair(t, attempts)
	for i := range customers {
		require.True(t, books.accounts[customers[i].id].Exists())
		customers[i] = customers[i].at(second)
	}
	books.requireAccountShows(t, customers...)
	for _, stream := range streams {
		require.NotContains(t, books.settled, stream.generation, "nobody could settle it")
	}
	requireCounts(t, customers[0])
}

func TestRecitaldGoesOnWhenPostgresIsKilled(t *testing.T) {
	t.Parallel()
	// given clients at work
	s := start(t, dataFolder(t))
	customers := []customer{s.openAccount("indie"), s.openAccount("pro")}
	whole := listen(t, s.operator(), everyKind()...)
	load := startLoad(t, customers...)
	s.eventually(func() bool { return load.clean() >= enough })

	// when Postgres is killed
	before, killed := load.clean(), s.postmaster()
	killed.kill(t)

	// then clients are served again, without a restart of recitald
	asked := map[int]bool{}
	s.eventually(func() bool {
		asked[do(t, customers[0].request(http.MethodGet, "/v1/account", nil)).status] = true
		return load.clean() >= before+enough && !killed.lives()
	})
	attempts := load.stop()
	require.False(t, s.hasEnded())
	require.NotEqual(t, killed.pid, s.postmaster().pid)

	// and in between nobody was told that their key is wrong
	require.Subset(t, []int{200, 503}, slices.Collect(maps.Keys(asked)))
	for _, a := range attempts {
		require.NotEqual(t, 401, a.status)
	}
	whole.requireWhole(t, attempts)
	books := s.requireSettledBooks()
	books.requireFair(t, attempts)
	books.requireAccountShows(t, customers...)
	requireCounts(t, customers[0])
}

func TestRecitaldGoesOnWhenEnginesAreKilled(t *testing.T) {
	t.Parallel()
	// given clients at work
	s := start(t, dataFolder(t), "--engines=2")
	customers := []customer{s.openAccount("indie"), s.openAccount("pro")}
	whole := listen(t, s.operator(), everyKind()...)
	load := startLoad(t, customers...)
	s.eventually(func() bool { return load.clean() >= enough })

	// when one engine is killed after the other, each when the one before was replaced
	killed := s.workers("engine")
	require.Len(t, killed, 2)
	for _, engine := range killed {
		engine.kill(t)
		s.eventually(func() bool { return !engine.lives() && len(s.workers("engine")) == 2 })
	}

	// then nobody gets less than all without seeing it, and all goes on
	before := load.clean()
	s.eventually(func() bool { return load.clean() >= before+enough })
	s.requireFewFailed(load, whole, customers...)
}

func TestACodecThatIsKilledCostsItsStreamsAlone(t *testing.T) {
	t.Parallel()
	codecCostsItsStreamsAlone(t, process.kill)
}

// codecCostsItsStreamsAlone checks what comes of a codec that something is done to.
func codecCostsItsStreamsAlone(t *testing.T, fail func(process, *testing.T)) {
	// given streams on both codecs, in the middle of their replies
	s := start(t, dataFolder(t), "--codecs=2")
	c := s.openAccount("indie")
	whole := listen(t, s.operator(), long())
	var streams []*held
	for range 4 {
		streams = append(streams, hold(t, c, long()))
	}

	// when one codec fails
	codecs := s.workers("codec")
	require.Len(t, codecs, 2)
	fail(codecs[0], t)

	// then its streams are cut, which their clients see, and the others get all
	var attempts []attempt
	cut := 0
	for _, stream := range streams {
		a := stream.rest()
		attempts = append(attempts, a)
		if !a.clean() {
			cut++
		}
	}
	require.Equal(t, 2, cut)
	whole.requireWhole(t, attempts)

	// and it is replaced, and what was cut costs at most what was handed over
	s.eventually(func() bool { return !codecs[0].lives() && s.figure("recital_codecs_running") == 2 })
	books := s.requireSettledBooks()
	books.requireFair(t, attempts)
	for _, a := range attempts {
		require.True(t, a.clean() || books.settled[a.generation] < a.speech.characters)
	}
	books.requireAccountShows(t, c)
	requireCounts(t, c)
}

// requireFewFailed ends a load, and checks that at most the requests that were at work when an engine failed have failed,
// visibly, and that everything is counted.
func (s *server) requireFewFailed(load *load, whole complete, customers ...customer) {
	s.t.Helper()
	attempts := load.stop()
	whole.requireWhole(s.t, attempts)
	failed := 0
	for _, a := range attempts {
		if !a.clean() {
			failed++
		}
	}
	require.LessOrEqual(s.t, failed, 2*2*len(everyKind()), "of %d requests", len(attempts))
	books := s.requireSettledBooks()
	books.requireFair(s.t, attempts)
	books.requireAccountShows(s.t, customers...)
	requireCounts(s.t, customers[0])
}

// requireCounts checks that the server serves, and counts what it serves.
func requireCounts(t *testing.T, c customer) {
	t.Helper()
	before := c.usage(t)
	a := c.try(http.DefaultClient, speech{bytesRoute, "mp3", 100})
	require.True(t, a.clean(), "status %d, error %v", a.status, a.err)
	require.Equal(t, before+100, c.usage(t))
}
