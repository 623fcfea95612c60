package main_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	voice "github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

func TestAudioLeavesBeforeTheSynthesisOfALongTextEnds(t *testing.T) {
	t.Parallel()
	s := start(t, dataFolder(t))
	c := s.openAccount("free")
	whole := listen(t, s.operator(), long())

	// when a client has read the first bytes of a long text, and blocks the server
	stream := hold(t, c, long())

	// then the characters are reserved but not settled, and the encoder still waits for the rest
	s.eventually(func() bool { return len(s.reservationsOf(c)) == 1 })
	require.Contains(t, s.reservationsOf(c)[0], stream.generation)
	require.Zero(t, c.usage(t))
	require.EqualValues(t, 1, s.figure("recital_codec_streams"))

	// when no codec is left to encode the rest, then the client notices that the reply is incomplete
	cut := hold(t, s.openAccount("free"), long())
	for _, codec := range s.workers("codec") {
		codec.kill(t)
	}
	for _, a := range []attempt{stream.rest(), cut.rest()} {
		require.Error(t, a.err)
		require.Less(t, len(a.body), len(whole[long()]))
	}
	s.requireSettledBooks().requireFair(t, []attempt{stream.attempt, cut.attempt})
}

func TestASlowClientGetsEverythingAndPaysForAll(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := start(t, dataFolder(t))
	c := s.openAccount("free")
	whole := listen(t, s.operator(), long())

	// given a client that stops reading while others are served
	stream := hold(t, c, long())
	listen(t, s.operator(), everyKind()...)

	// when it continues reading, then it gets the whole audio, and its account shows all characters
	a := stream.rest()
	require.NoError(t, a.err)
	whole.requireWhole(t, []attempt{a})
	s.eventually(func() bool { return c.usage(t) == a.speech.characters })
}

func TestAClientThatDisconnectsPaysForDeliveredSegments(t *testing.T) {
	t.Parallel()
	s := share(t)
	c := s.openAccount("free")

	// when a client disconnects during a long text
	hold(t, c, long()).hangUp()

	// then it pays for delivered segments only, and no reservation remains
	books := c.requireSettled(t)
	require.Contains(t, segmentEnds(prose(int(long().characters))), books.charactersOf(c.id))
}

// segmentEnds returns the numbers of characters after which the synthesis of a text can be interrupted.
func segmentEnds(text string) []int64 {
	ends := []int64{0}
	for _, segment := range voice.Split(text) {
		ends = append(ends, ends[len(ends)-1]+int64(segment.Characters))
	}
	return ends[:len(ends)-1] // the last end is not an interruption
}

// reservationsOf returns the open reservations in the read model, as rows.
func (s *server) reservationsOf(c customer) (open []string) {
	s.t.Helper()
	rows, err := s.readModels()
	require.NoError(s.t, err)
	for _, row := range rows {
		if strings.HasPrefix(row, "reservation ") && strings.Contains(row, " "+c.id+" ") {
			open = append(open, row)
		}
	}
	return open
}

// metrics returns all metrics in Prometheus' text format.
func (s *server) metrics() string {
	s.t.Helper()
	request, err := http.NewRequest(http.MethodGet, s.admin+"/metrics", http.NoBody)
	require.NoError(s.t, err)
	request.Header.Set("Authorization", "Bearer "+s.secret("auditor-token"))
	answer := requireOK(s.t, do(s.t, request))
	return answer.text()
}
