package main_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

// enough is the number of requests of a load that must succeed before a kill, and again after it.
const enough = 20

func TestNothingAcknowledgedIsLostWhenRecitaldIsKilled(t *testing.T) {
	t.Parallel()
	// given several accounts with active clients, some of them receiving a reply
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

	// then the clients notice that their replies were interrupted
	for _, stream := range streams {
		cut := stream.rest()
		require.Error(t, cut.err)
		attempts = append(attempts, cut)
	}
	whole.requireWhole(t, attempts)

	// and after a restart all acknowledged writes are there, and usage is neither counted twice nor too high
	second := start(t, data)
	books := second.requireReadModelsFollowLog()
	books.requireFair(t, attempts)
	for i := range customers {
		require.True(t, books.accounts[customers[i].id].Exists())
		customers[i] = customers[i].at(second)
	}
	books.requireAccountShows(t, customers...)
	for _, stream := range streams {
		require.NotContains(t, books.settled, stream.generation, "no process was left to settle it")
	}
	requireCounts(t, customers[0])
}

func TestRecitaldContinuesWhenPostgresIsKilled(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given active clients
	s, customers, whole, load := underLoad(t)

	// when Postgres is killed
	before, killed := load.clean(), s.postmaster()
	killed.kill(t)

	// then clients are served again, without a restart of recitald
	asked := map[int]bool{}
	s.eventually(func() bool {
		asked[once(t, customers[0].request(http.MethodGet, "/v1/account", nil)).status] = true
		return load.clean() >= before+enough && !killed.lives()
	})
	attempts := load.stop()
	require.False(t, s.hasEnded())
	require.NotEqual(t, killed.pid, s.postmaster().pid)

	// and in the meantime no client got 401 for a valid key
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

func TestRecitaldContinuesWhenEnginesAreKilled(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given active clients
	s, customers, whole, load := underLoad(t, "--engines=2")

	// when the engines are killed, each after the previous one was replaced
	killed := s.workers("engine")
	require.Len(t, killed, 2)
	for _, engine := range killed {
		engine.kill(t)
		s.eventually(func() bool { return !engine.lives() && len(s.workers("engine")) == 2 })
	}

	// then no client gets an incomplete reply without noticing, and all continue
	before := load.clean()
	s.eventually(func() bool { return load.clean() >= before+enough })
	s.requireFewFailed(load, whole, customers...)
}

func TestAKilledCodecInterruptsOnlyItsStreams(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	codecCostsItsStreamsAlone(t, process.kill)
}

// underLoad starts recitald with active clients and returns when some were served. It also returns the audio that they
// must get.
func underLoad(t *testing.T, flags ...string) (s *server, customers []customer, whole complete, l *load) {
	t.Helper()
	s = start(t, dataFolder(t), flags...)
	customers = []customer{s.openAccount("indie"), s.openAccount("pro")}
	whole = listen(t, s.operator(), everyKind()...)
	l = startLoad(t, customers...)
	s.eventually(func() bool { return l.clean() >= enough })
	return s, customers, whole, l
}

// codecCostsItsStreamsAlone checks that the failure of a codec interrupts only its streams.
func codecCostsItsStreamsAlone(t *testing.T, fail func(process, *testing.T), flags ...string) {
	// given streams of both codecs
	s := start(t, dataFolder(t), append(flags, "--codecs=2")...)
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

	// then the clients of its streams notice the interruption, and the other streams are complete
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

	// and it is replaced, and interrupted replies cost at most their delivered characters
	s.eventually(func() bool { return !codecs[0].lives() && s.figure("recital_codecs_running") == 2 })
	books := s.requireSettledBooks()
	books.requireFair(t, attempts)
	for _, a := range attempts {
		require.True(t, a.clean() || books.settled[a.generation] < a.speech.characters)
	}
	books.requireAccountShows(t, c)
	requireCounts(t, c)
}

// requireFewFailed ends a load. It checks that at most the requests in progress at an engine's failure have failed,
// visibly, and that all usage is counted.
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

// requireCounts checks that the server serves a request and counts it.
func requireCounts(t *testing.T, c customer) {
	t.Helper()
	before := c.usage(t)
	a := c.try(http.DefaultClient, speech{bytesRoute, "mp3", 100})
	require.True(t, a.clean(), "status %d, error %v", a.status, a.err)
	require.Equal(t, before+100, c.usage(t))
}
