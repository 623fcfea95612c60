package main_test

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/libav/libavtest"
)

func TestBinaryRepliesHaveTheAddressOfTheirTimes(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	s := start(t, data)
	c := s.openAccount("indie")
	const text = "Zyzzogeton walks by the river. It is a cicada, and it sings when the sun is high."
	query := url.Values{"text": {text}, "voice": {"leah"}, "format": {"wav"}, "return_timestamps": {"true"}}
	form := url.Values{"text": {text}, "voice": {"leah"}, "extras": {"alignment"}}.Encode()

	// given a reply that contains its times
	detailed := c.post(t, detailedRoute, order{"text": text, "voice": "leah", "format": "wav", "return_timestamps": true})
	require.Equal(t, 200, detailed.status, detailed.text())
	require.Empty(t, detailed.header.Get("x-timestamps-url"))
	var whole recording
	detailed.decode(t, &whole)

	// when replies are only audio
	replies := map[string]reply{
		"timestamps": c.post(t, bytesRoute, order{"text": text, "voice": "leah", "format": "wav", "return_timestamps": true}),
		"durations":  c.post(t, bytesRoute, order{"text": text, "voice": "leah", "format": "wav", "return_durations": true}),
		"GET":        do(t, c.request(http.MethodGet, "/v1/ai/speech?"+query.Encode(), nil)),
		"beta": do(t, c.request(http.MethodPost, "/speech/beta/synthesize", strings.NewReader(form),
			"Content-Type", "application/x-www-form-urlencoded")),
	}
	var addresses []string
	for name, spoken := range replies {
		require.Equal(t, 200, spoken.status, "%s: %s", name, spoken.text())
		address := spoken.header.Get("x-timestamps-url")
		require.True(t, strings.HasPrefix(address, s.address+"/v1/ai/speech/timestamps/"), "%s: %q", name, address)
		addresses = append(addresses, address)

		// then their times can be read, by anyone with the URL, as soon as the replies have ended
		words := readTimes(t, address)
		requireTimes(t, text, words)
		require.Equal(t, whole.Timestamps, words, name)
		decoded, err := libavtest.Decode(audio.WAV, spoken.body)
		require.NoError(t, err)
		last := words[len(words)-1]
		require.LessOrEqual(t, last.Start+last.Duration, decoded.Seconds()+0.001, name)
	}
	plain := c.post(t, bytesRoute, order{"text": text, "voice": "leah"})
	require.Empty(t, plain.header.Get("x-timestamps-url"))
	require.Equal(t, 403, fetch(t, http.MethodGet, addresses[0]+"x").status)

	// and the text is stored only encrypted
	require.Len(t, s.blobFiles(), len(replies))
	for _, file := range s.blobFiles() {
		require.NotContains(t, read(t, file), "Zyzzogeton")
	}
	s.requireSealed("Zyzzogeton", "clip-saved", 0)

	// when the times are ten minutes old, then they cannot be read any more
	past := time.Now().Add(-10 * time.Minute)
	for _, file := range s.blobFiles() {
		require.NoError(t, os.Chtimes(file, past, past))
	}
	for _, address := range addresses {
		gone := fetch(t, http.MethodGet, address)
		require.Equal(t, 404, gone.status, gone.text())
	}

	// and they are erased, even by a recitald that starts after a crash
	s.kill()
	s = start(t, data)
	s.eventually(func() bool { return len(s.blobFiles()) == 0 })
}

// readTimes reads the times of a reply by their URL, without a key.
func readTimes(t *testing.T, address string) []word {
	t.Helper()
	answer := requireOK(t, fetch(t, http.MethodGet, address))
	require.Equal(t, "no-store", answer.header.Get("Cache-Control"))
	var times recording
	answer.decode(t, &times)
	require.Equal(t, times.Timestamps, times.Durations)
	return times.Timestamps
}

func TestTimesOfAReplyThatIsCut(t *testing.T) {
	t.Parallel()
	s := share(t)
	c := s.openAccount("indie")
	wanted := long().order()
	wanted["return_timestamps"] = true

	// given a stream to a slow client, without times before its end
	client := slowly()
	stream, err := client.Do(c.request(http.MethodPost, bytesRoute, wanted.encode()))
	require.NoError(t, err)
	defer stream.Body.Close()
	require.Equal(t, 200, stream.StatusCode)
	_, err = io.ReadFull(stream.Body, make([]byte, 4<<20)) // more than a segment
	require.NoError(t, err)
	address := stream.Header.Get("x-timestamps-url")
	waiting := fetch(t, http.MethodGet, address)
	require.Equal(t, 404, waiting.status, waiting.text())
	require.Equal(t, "1", waiting.header.Get("Retry-After"))

	// when the client disconnects, then there are times of the received audio
	require.NoError(t, stream.Body.Close())
	s.eventually(func() bool { return fetch(t, http.MethodGet, address).status == 200 })
	var said strings.Builder
	for _, w := range readTimes(t, address) {
		said.WriteString(w.Text)
	}
	text, _ := wanted["text"].(string)
	require.True(t, strings.HasPrefix(text, said.String()))
	require.Less(t, said.Len(), len(text))
	c.requireSettled(t)
	require.EqualValues(t, len([]rune(said.String())), c.usage(t))
}
