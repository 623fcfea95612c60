package main_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

func TestLogsAndMetricsHoldNeitherTextsNorKeys(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given a recitald with all logging enabled
	s := start(t, dataFolder(t), "--log-level=debug")
	c := s.openAccount("free")
	const marker = "Zyzzogeton"
	text := marker + " and " + strings.ToLower(marker) + " are in the text."

	// when requests with the text are served, refused, malformed, over quota, interrupted and lost
	for _, route := range []string{bytesRoute, detailedRoute} {
		require.Equal(t, 200, c.post(t, route, order{"text": text, "voice": "leah", "return_timestamps": true}).status)
		require.Equal(t, 404, c.post(t, route, order{"text": text, "voice": marker}).status)
		require.Equal(t, 422, c.post(t, route, order{"text": text, "voice": "leah", "format": marker}).status)
		require.Equal(t, 422, c.post(t, route, order{"text": text, "voice": "leah", "language": marker}).status)
		require.Equal(t, 422, do(t, c.request(http.MethodPost, route, strings.NewReader(`{"text":"`+text))).status)
		require.Equal(t, 404, do(t, c.request(http.MethodPost, route+"/"+marker, strings.NewReader("{}"))).status)
		require.Equal(t, 401, customer{server: s, key: marker}.post(t, route, order{"text": text}).status)
	}
	s.loseAStream(c, text)
	most := order{"text": strings.Repeat(text+" ", 90), "voice": "leah", "speed": 2}
	s.eventually(func() bool { return c.post(t, detailedRoute, most).status == 402 })
	s.requireSettledBooks()
	metrics := s.metrics()
	s.interrupt()

	// then neither the log nor the metrics contain the text or a key
	log := read(t, s.log)
	require.Contains(t, log, c.id, "the log has account ids")
	require.Contains(t, metrics, bytesRoute)
	for name, told := range map[string]string{"log": log, "metrics": metrics} {
		require.NotContains(t, strings.ToLower(told), strings.ToLower(marker), name)
		for _, secret := range []string{c.key, s.key, s.secret("operator-token"), s.secret("auditor-token")} {
			require.NotContains(t, told, secret, name)
		}
	}
}

// loseAStream kills the codecs during a reply.
func (s *server) loseAStream(c customer, text string) {
	s.t.Helper()
	request := order{"text": strings.Repeat(text+" ", 90), "voice": "leah", "format": "pcm_s16le"}
	response, err := slowly().Do(c.request(http.MethodPost, bytesRoute, request.encode()))
	require.NoError(s.t, err)
	defer response.Body.Close()
	require.Equal(s.t, 200, response.StatusCode)
	for _, codec := range s.workers("codec") {
		codec.kill(s.t)
	}
	s.eventually(func() bool { return len(s.workers("codec")) > 0 })
}
