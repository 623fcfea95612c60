package main_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fasthttp/websocket"
	"github.com/stretchr/testify/require"
)

// Over HTTP, pauses in markup have their duration, and only the text is billed and timed.
func TestMarkupSteersSpeech(t *testing.T) {
	t.Parallel()
	c := share(t).openAccount("enterprise")
	samples := func(text string) int {
		answer := c.post(t, bytesRoute, order{"text": text, "voice": "leah", "format": "raw", "sample_rate": 24000})
		require.Equal(t, 200, answer.status, answer.text())
		return len(answer.body) / 2
	}

	// when the markup has a pause of a second
	const document = ` <speak>Hello <break time="1s"/><sub alias="wide world">W2</sub> &amp; <s>all.</s></speak>`
	const text = "Hello W2 & all."
	with, without := samples(document), samples(strings.Replace(document, "1s", "0s", 1))

	// then the audio is longer by a second, to within a frame of the resampler, and the text and the longer alias are
	// billed
	require.InDelta(t, without+24000, with, 480)
	costs := utf8.RuneCountInString(text) + len("wide world") - len("W2")
	require.EqualValues(t, 2*costs, c.usage(t))

	// and the words are those of the text, and the times include the pause
	timed := c.timed(t, document, "en")
	require.Equal(t, text, joined(timed))
	begins := starts(t, timed, "HW")
	require.Greater(t, begins[1]-begins[0], 1.0)
	answer := c.post(t, bytesRoute, order{"text": document, "voice": "leah"})
	require.Equal(t, strconv.Itoa(costs), answer.header.Get("x-character-count"))

	// and the clip has the markup
	answer = c.post(t, bytesRoute, order{"text": document, "voice": "leah", "debug": true})
	clip := requireOK(t, do(t, c.request("GET", "/v1/account/clip/"+answer.header.Get("x-clip-id"), nil)))
	var saved struct{ Text string }
	clip.decode(t, &saved)
	require.Equal(t, document, saved.Text)
}

// Errors in markup are reported with line and column, and are free.
func TestMarkupWithAnErrorIsRefused(t *testing.T) {
	t.Parallel()
	c := share(t).openAccount("enterprise")
	for text, message := range map[string]string{
		"<speak>a\n <audio src='x'/></speak>": "line 2, column 2: <audio> is not supported",
		"<speak><!DOCTYPE a>b</speak>": "line 1, column 8: " +
			"a document type or another declaration is not permitted",
		"<speak>a<break time='11s'/></speak>": "line 1, column 9: " +
			"the time of <break> is a number of s or ms, up to 10 seconds",
		"<speak>" + strings.Repeat("<p>", 17) + "</p>": "line 1, column 53: <p> is more than 16 elements deep",
	} {
		for _, route := range []string{bytesRoute, detailedRoute} {
			send := func(version string) reply {
				return c.post(t, route, order{"text": text, "voice": "leah"}, "lmnt-version", version)
			}
			requireInvalid(t, send("1.0"), send("1.1"), "value_error", "text", "Value error, "+message)
		}
	}
	tooLong := c.post(t, bytesRoute, order{"text": "<speak>a" + strings.Repeat("<break/>", 700) + "</speak>",
		"voice": "leah"})
	require.Equal(t, 422, tooLong.status)
	require.Contains(t, tooLong.text(), "5000")
	require.Zero(t, c.usage(t))
}

// A dialogue is billed as one request, and may use any voice that the account may use.
func TestADialogueIsOneRequest(t *testing.T) {
	t.Parallel()
	c := share(t).openAccount("enterprise")
	const text = `<speak>Ready? <voice name="zeke">Yes.</voice> <voice name="ava">Not yet!</voice></speak>`
	said := map[string]bool{}
	for _, document := range []string{text, strings.ReplaceAll(text, "zeke", "leah"),
		strings.ReplaceAll(text, "ava", "leah")} {
		for _, model := range []string{"aurora", "blizzard"} {
			answer := c.post(t, bytesRoute, order{"text": document, "voice": "leah", "model": model, "format": "raw",
				"language": "en"})
			require.Equal(t, 200, answer.status, answer.text())
			require.Equal(t, strconv.Itoa(len("Ready? Yes. Not yet!")), answer.header.Get("x-character-count"))
			said[string(answer.body)] = true
		}
	}
	require.Len(t, said, 6)
	for _, id := range []string{"nobody", "9c4a8f2b3e1d7c40"} {
		refused := c.post(t, bytesRoute, order{"text": strings.ReplaceAll(text, "ava", id), "voice": "leah"})
		require.Equal(t, 422, refused.status)
		require.Contains(t, refused.text(), "line 1, column 47: the voice of <voice>: ")
	}
	require.EqualValues(t, 6*len("Ready? Yes. Not yet!"), c.usage(t))
}

// Sockets do not interpret markup.
func TestASocketReadsMarkupAsText(t *testing.T) {
	t.Parallel()
	c := share(t).openAccount("enterprise")
	const text = `<speak>Hello <break time="1s"/>world.</speak>`
	k := c.talk(t, order{"format": "pcm_s16le"})
	k.say(text, 1)
	k.send(order{"type": "finish"})
	require.Equal(t, websocket.CloseNormalClosure, k.end())
	require.Equal(t, text, k.said())
	require.EqualValues(t, len(text), c.usage(t))
}
