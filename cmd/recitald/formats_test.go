package main_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os/exec"
	"testing"

	"github.com/fasthttp/websocket"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/libav/libavtest"
	"github.com/recital-tts/recital/internal/testing/bintest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// contentTypes returns the content types of the published service.
func contentTypes() map[audio.Format]string {
	return map[audio.Format]string{
		audio.MP3: "audio/mpeg", audio.AAC: "audio/aac", audio.WebM: "audio/webm", audio.WAV: "audio/wav",
		audio.ULaw: "audio/wav",
		audio.Raw:  "application/vnd.lmnt.audio-int16", audio.PCMS16LE: "application/vnd.lmnt.audio-int16",
		audio.PCMF32LE: "application/vnd.lmnt.audio-fp32",
	}
}

func everySpec() (specs []audio.Spec) {
	for _, format := range audio.Formats() {
		for _, rate := range audio.SampleRates() {
			specs = append(specs, audio.Spec{Format: format, SampleRate: rate})
		}
	}
	return specs
}

const threeSentences = "The ferry leaves at half past six. Bring a coat, because the deck is cold before sunrise. " +
	"Have you got your ticket?"

func TestEveryFormatIsHeardWhole(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := share(t)
	c := s.operator()
	lasts := c.lengthOf(t, threeSentences)
	for _, spec := range everySpec() {
		t.Run(fmt.Sprintf("%s at %d Hz", spec.Format, spec.SampleRate), func(t *testing.T) {
			// when a text is synthesised
			answer := c.post(t, bytesRoute, order{"text": threeSentences, "voice": "leah", "format": spec.Format,
				"sample_rate": spec.SampleRate})
			require.Equal(t, 200, answer.status, answer.text())

			// then the audio has the requested format and the duration of its words
			require.Equal(t, contentTypes()[spec.Format], answer.header.Get("Content-Type"))
			requireSpeech(t, spec, answer.body, lasts)

			// and the same holds over a socket
			k := c.talk(t, order{"format": spec.Format, "sample_rate": spec.SampleRate})
			k.say(threeSentences, 7)
			k.send(order{"type": "finish"})
			require.Equal(t, websocket.CloseNormalClosure, k.end())
			require.Equal(t, threeSentences, k.said())
			requireSpeech(t, spec, k.sound, k.spent)
		})
	}
}

// lengthOf returns the duration of the words of a text, in seconds.
func (c customer) lengthOf(t *testing.T, text string) float64 {
	t.Helper()
	answer := c.post(t, detailedRoute, order{"text": text, "voice": "leah", "format": "wav", "return_timestamps": true})
	require.Equal(t, 200, answer.status, answer.text())
	var r recording
	answer.decode(t, &r)
	last := r.Timestamps[len(r.Timestamps)-1]
	require.Greater(t, last.Start, 3.0)
	return last.Start + last.Duration
}

// requireSpeech checks that audio decodes without errors, has the requested rate and one channel, has the given
// duration in seconds and is audible from its beginning to its end.
func requireSpeech(t *testing.T, spec audio.Spec, encoded []byte, seconds float64) {
	t.Helper()
	decoded := decode(t, spec, encoded)
	require.Equal(t, 1, decoded.Channels)
	if spec.Format != audio.WebM && spec.Format != audio.OggOpus { // Opus always decodes at 48 kHz
		require.Equal(t, spec.SampleRate, decoded.Rate)
	}
	require.InDelta(t, seconds, decoded.Seconds(), longestDelay(spec), "seconds")
	third := len(decoded.Samples) / 3
	for part := range 3 {
		require.Greater(t, loudest(decoded.Samples[part*third:(part+1)*third]), float32(0.05), "part %d is silent", part)
	}

	played, complaints := play(t, spec, encoded)
	require.Empty(t, complaints, "of ffmpeg")
	require.InDelta(t, seconds, played, longestDelay(spec), "seconds, as ffmpeg plays it")
}

// longestDelay returns the maximum, in seconds, that an encoder adds to the duration: its delay and the padding of its
// last frame.
func longestDelay(spec audio.Spec) float64 {
	switch spec.Format {
	case audio.AAC:
		return 2.5 * 1024 / float64(spec.SampleRate)
	case audio.MP3:
		return 3 * 576 / float64(spec.SampleRate)
	default:
		return 0.03
	}
}

// decode returns the samples of a file; headerless PCM is read here, everything else by libav.
func decode(t *testing.T, spec audio.Spec, encoded []byte) libavtest.Decoded {
	t.Helper()
	raw := libavtest.Decoded{Rate: spec.SampleRate, Channels: 1}
	switch spec.Format {
	case audio.Raw, audio.PCMS16LE:
		require.Zero(t, len(encoded)%2)
		for sample := range bytesOf(encoded, 2) {
			raw.Samples = append(raw.Samples, float32(int16(binary.LittleEndian.Uint16(sample)))/(1<<15))
		}
		return raw
	case audio.PCMF32LE:
		require.Zero(t, len(encoded)%4)
		for sample := range bytesOf(encoded, 4) {
			raw.Samples = append(raw.Samples, math.Float32frombits(binary.LittleEndian.Uint32(sample)))
		}
		return raw
	}
	decoded, err := libavtest.Decode(spec.Format, encoded)
	require.NoError(t, err)
	return decoded
}

func bytesOf(encoded []byte, size int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(encoded) >= size && yield(encoded[:size]) {
			encoded = encoded[size:]
		}
	}
}

// play decodes audio from a pipe with ffmpeg, as a player does while it arrives. It returns the decoded seconds and
// ffmpeg's error output.
func play(t *testing.T, spec audio.Spec, encoded []byte) (seconds float64, complaints string) {
	t.Helper()
	arguments := []string{"-v", "error"}
	switch spec.Format {
	case audio.Raw, audio.PCMS16LE:
		arguments = append(arguments, "-f", "s16le", "-ar", fmt.Sprint(spec.SampleRate))
	case audio.PCMF32LE:
		arguments = append(arguments, "-f", "f32le", "-ar", fmt.Sprint(spec.SampleRate))
	}
	arguments = append(arguments, "-i", "pipe:0", "-f", "s16le", "-ac", "1", "-ar", "48000", "pipe:1")
	command := exec.CommandContext(t.Context(), "ffmpeg", arguments...)
	var heard, said bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(encoded), &heard, &said
	require.NoError(t, command.Run(), "%s", &said)
	return float64(heard.Len()) / 2 / 48000, said.String()
}

func TestEveryFormatPlaysBeforeItHasAllArrived(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	bintest.Tool(t, "ffmpeg") // the decoder of the tests refuses audio that is cut off
	s := start(t, dataFolder(t))
	c := s.operator()
	for _, spec := range everySpec() {
		t.Run(fmt.Sprintf("%s at %d Hz", spec.Format, spec.SampleRate), func(t *testing.T) {
			// given a slow client that has read the beginning of a long text's audio
			client := slowly()
			response, err := client.Do(c.request(http.MethodPost, bytesRoute, order{
				"text": prose(5000), "voice": "leah", "format": spec.Format, "sample_rate": spec.SampleRate,
			}.encode()).WithContext(t.Context()))
			require.NoError(t, err)
			defer client.CloseIdleConnections()
			defer response.Body.Close()
			beginning := make([]byte, fewBytes(spec.Format))
			_, err = io.ReadFull(response.Body, beginning)
			require.NoError(t, err)
			require.EqualValues(t, 1, s.figure("recital_codec_streams"), "the encoder waits for the rest")

			// then part of it is audible; a player complains about the incomplete frame
			seconds, _ := play(t, spec, beginning)
			require.Greater(t, seconds, 0.2)

			require.NoError(t, response.Body.Close())
			s.eventually(func() bool { return s.figure("recital_codec_streams") == 0 })
		})
	}
}

// fewBytes returns the size of a few tenths of a second of audio.
func fewBytes(format audio.Format) int {
	switch format {
	case audio.MP3, audio.AAC, audio.WebM:
		return 4 << 10
	default:
		return 32 << 10
	}
}

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := share(t)
	c := s.operator()
	sounds := map[audio.Format][]byte{}
	for _, format := range audio.Formats() {
		t.Run(string(format), func(t *testing.T) {
			ask := func(seed string) reply {
				answer := c.post(t, bytesRoute, order{"text": threeSentences, "voice": "leah", "format": format, "temperature": 2,
					"seed": seed})
				require.Equal(t, 200, answer.status, answer.text())
				return answer
			}
			// given audio whose seed was drawn by the server
			answer := c.post(t, bytesRoute, order{"text": threeSentences, "voice": "leah", "format": format, "temperature": 2})
			require.Equal(t, 200, answer.status, answer.text())

			// then a request with the reply's seed gets the same bytes on every route
			seed := answer.header.Get("X-Seed")
			require.True(t, bytes.Equal(answer.body, ask(seed).body))
			query := url.Values{"text": {threeSentences}, "voice": {"leah"}, "format": {string(format)}, "temperature": {"2"},
				"seed": {seed}}
			got := requireOK(t, do(t, c.request(http.MethodGet, detailedRoute+"?"+query.Encode(), nil)))
			require.True(t, bytes.Equal(answer.body, got.body))

			// and another seed results in other audio
			sounds[format] = ask("7").body
			require.False(t, bytes.Equal(answer.body, sounds[format]))
			require.True(t, bytes.Equal(sounds[format], ask("7").body))
		})
	}
	require.True(t, bytes.Equal(sounds[audio.Raw], sounds[audio.PCMS16LE]), "raw is another name of pcm_s16le")
}
