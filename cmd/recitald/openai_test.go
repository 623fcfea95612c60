package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

const openAIRoute = "/v1/audio/speech"

// bearer makes a request like OpenAI's clients.
func (c customer) bearer(t *testing.T, o order) reply {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, c.server.address+openAIRoute, o.encode())
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/octet-stream")
	return do(t, request)
}

func TestOpenAIsFormatsAreHeardWhole(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := share(t)
	lasts := s.operator().lengthOf(t, threeSentences)
	for name, c := range map[string]struct {
		format      audio.Format
		contentType string
	}{
		"mp3": {audio.MP3, "audio/mpeg"}, "opus": {audio.OggOpus, "audio/ogg"}, "aac": {audio.AAC, "audio/aac"},
		"flac": {audio.FLAC, "audio/flac"}, "wav": {audio.WAV, "audio/wav"}, "pcm": {audio.PCMS16LE, "audio/pcm"},
	} {
		t.Run(name, func(t *testing.T) {
			c, spec, account := c, audio.Spec{Format: c.format, SampleRate: 24000}, s.openAccount("pro")
			plain := order{"model": "aurora", "input": threeSentences, "voice": "alloy", "response_format": name}

			// when a text is synthesised, then the audio has the requested format and is charged
			answer := requireOK(t, account.bearer(t, plain))
			require.Equal(t, c.contentType, answer.header.Get("Content-Type"))
			require.Empty(t, answer.header.Get("x-warning"))
			requireSpeech(t, spec, answer.body, lasts)
			require.EqualValues(t, len(threeSentences), account.usage(t))

			// and the same holds for events
			plain["stream_format"] = "sse"
			answer = requireOK(t, account.bearer(t, plain))
			require.Equal(t, "text/event-stream", answer.header.Get("Content-Type"))
			sound, pieces, charged := readEvents(t, answer.body)
			requireSpeech(t, spec, sound, lasts)
			require.Greater(t, pieces, 1)
			require.EqualValues(t, len(threeSentences), charged)
			require.EqualValues(t, 2*len(threeSentences), account.usage(t))
		})
	}
}

// readEvents returns the audio of server-sent events, the number of pieces, and the tokens in the last event.
func readEvents(t *testing.T, body []byte) (sound []byte, pieces int, tokens int64) {
	t.Helper()
	done := false
	for line := range strings.Lines(string(body)) {
		data, isData := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !isData {
			require.Equal(t, "\n", line)
			continue
		}
		require.False(t, done, "speech.audio.done is the last event")
		var event struct {
			Type  string
			Audio []byte
			Usage map[string]int64
		}
		require.NoError(t, json.Unmarshal([]byte(data), &event))
		switch event.Type {
		case "speech.audio.delta":
			sound, pieces = append(sound, event.Audio...), pieces+1
		case "speech.audio.done":
			require.Equal(t, event.Usage["input_tokens"]+event.Usage["output_tokens"], event.Usage["total_tokens"])
			done, tokens = true, event.Usage["total_tokens"]
		default:
			t.Fatalf("an event of the type %q", event.Type)
		}
	}
	require.True(t, done)
	return sound, pieces, tokens
}

func TestWarningsAndErrorsOfOpenAIsClients(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := share(t)
	c := s.openAccount("free")
	speaks := func(more order) reply {
		o := order{"model": "aurora", "input": "Hello.", "voice": "leah", "response_format": "pcm"}
		for name, value := range more {
			o[name] = value
		}
		return c.bearer(t, o)
	}

	// unsupported settings result in a warning
	for warning, more := range map[string]order{
		"": {"voice": order{"id": "zeke"}, "speed": 0.25},
		"model: it is unknown, and aurora speaks": {"model": "gpt-4o-mini-tts", "voice": "Onyx"},
		"instructions: they are ignored":          {"instructions": "Speak like a pirate."},
		"speed: it is limited to 2":               {"speed": 4},
	} {
		answer := requireOK(t, speaks(more))
		require.Equal(t, warning, answer.header.Get("x-warning"))
		require.NotEmpty(t, answer.body)
	}
	twice, fourTimes := speaks(order{"speed": 2}), speaks(order{"speed": 4})
	require.InDelta(t, len(twice.body), len(fourTimes.body), 0.05*float64(len(twice.body)), "4 is limited to 2")

	// an exceeded quota is an error that clients do not retry
	for range 2 {
		require.Equal(t, 200, speaks(order{"input": prose(5000), "speed": 2}).status)
	}
	answer := speaks(order{"input": prose(5000)})
	require.Equal(t, 429, answer.status, answer.text())
	require.Equal(t, "false", answer.header.Get("x-should-retry"))
	require.Contains(t, answer.text(), `"code":"insufficient_quota"`)
	require.EqualValues(t, 10_000+6*len("Hello."), c.usage(t))
	other := s.openAccount("free")
	other.key = "rk_wrong"
	require.Equal(t, 401, other.bearer(t, order{"model": "aurora", "input": "Hello.", "voice": "leah"}).status)
	require.NotContains(t, read(t, s.log), fmt.Sprintf("%.20s", c.key))
}

func TestOpenAIsClientsSpeakWithTheirOwnVoicesByName(t *testing.T) {
	if testing.Short() {
		t.Skip("voices take long to make")
	}
	t.Parallel()
	s := share(t)
	c := s.openAccount("pro")
	recording := s.reference(t, "mp3", 200)
	mine := c.readyVoice(t, recording) // it is called Mine
	speaks := func(voice any) reply {
		return c.bearer(t, order{"model": "aurora", "input": "Hello.", "voice": voice, "response_format": "pcm"})
	}
	for _, voice := range []any{"Mine", "mine", order{"id": "Mine"}, mine.ID, order{"id": mine.ID}} {
		answer := requireOK(t, speaks(voice))
		require.NotEmpty(t, answer.body)
	}

	// an ambiguous name is refused
	other := c.readyVoice(t, recording)
	answer := speaks("Mine")
	require.Equal(t, 400, answer.status, answer.text())
	require.Contains(t, answer.text(), `"param":"voice"`)
	c.deleteVoice(t, mine.ID)
	require.Equal(t, 200, speaks("Mine").status)
	c.deleteVoice(t, other.ID)
	require.Equal(t, 404, speaks("Mine").status)
}
