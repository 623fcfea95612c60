package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/codec"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// mp3 returns the default format of requests.
func mp3() audio.Spec { return audio.Spec{Format: audio.MP3, SampleRate: 24000} }

// pipeline is worker and encoder alone, in pools of the same sizes as recitald's.
type pipeline struct {
	speaker  *speech.Speaker
	encoders audio.Encoders
}

func openPipeline(b *testing.B) pipeline {
	b.Helper()
	command := func(mode string) workers.Command {
		return workertest.Mode(speechworker, mode)
	}
	engines, err := worker.Open(worker.Config{Command: command("engine")})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, engines.Close()) })
	codecs, err := codec.Open(codec.Config{Command: command("codec")})
	require.NoError(b, err)
	b.Cleanup(codecs.Close)
	return pipeline{speaker: speech.NewSpeaker(engines), encoders: audio.NewEncoders(codecs)}
}

// speak synthesises a text and returns the time to its first byte and the length of the audio in seconds.
func (p pipeline) speak(ctx context.Context, text string, spec audio.Spec) (
	firstByte time.Duration, seconds float64, err error,
) {
	begun := time.Now()
	stream := p.speaker.Speak(ctx, speech.Request{Text: text, Voice: speech.Voices()[0], Language: "en-us"})
	defer stream.Close()
	encoder, err := p.encoders.Open(ctx, spec, stream.SampleRate())
	if err != nil {
		return 0, 0, err
	}
	defer encoder.Close()
	samples := 0
	for {
		piece, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			_, err := encoder.Finish(ctx)
			return firstByte, float64(samples) / float64(stream.SampleRate()), err
		}
		if err != nil {
			return 0, 0, err
		}
		if len(piece.PCM) == 0 {
			continue
		}
		samples += len(piece.PCM) / 2
		encoded, err := encoder.Encode(ctx, piece.PCM)
		if err != nil {
			return 0, 0, err
		}
		if firstByte == 0 && len(encoded) > 0 {
			firstByte = time.Since(begun)
		}
	}
}

// speaker is a running recitald and a bare pipeline.
type speaker struct {
	app  *app.App
	cfg  app.Config
	keys []string // of several accounts, because an account's sockets are limited
	bare pipeline
}

func openSpeaker(b *testing.B) speaker {
	b.Helper()
	s := serveSpeech(b)
	s.bare = openPipeline(b)
	return s
}

// serveSpeech starts the recitald alone.
func serveSpeech(b *testing.B) speaker {
	b.Helper()
	cfg := config(b)
	s := speaker{app: open(b, cfg), cfg: cfg}
	s.keys = []string{secret(b, cfg, "dev-api-key"), s.openAccount(b)}
	return s
}

func (s speaker) openAccount(b *testing.B) (key string) {
	b.Helper()
	request, err := http.NewRequest(http.MethodPost, "http://"+s.app.AdminAddr()+"/admin/accounts",
		strings.NewReader(`{"plan":"enterprise"}`))
	require.NoError(b, err)
	request.Header.Set("Authorization", "Bearer "+secret(b, s.cfg, "operator-token"))
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(b, err)
	defer response.Body.Close()
	var opened struct {
		Key string `json:"apikey"`
	}
	require.NoError(b, json.NewDecoder(response.Body).Decode(&opened))
	http.DefaultClient.CloseIdleConnections()
	return opened.Key
}

// order returns a request for a text in a format on the bytes route.
func (s speaker) order(text string, spec audio.Spec) string {
	return post("/v1/ai/speech/bytes", "x-api-key: "+s.keys[0]+"\r\n",
		fmt.Sprintf(`{"text":%q,"voice":"leah","language":"en","format":%q,"sample_rate":%d}`, text, spec.Format,
			spec.SampleRate))
}

// asker requests the sentence once, reads all of it and returns the time to its first byte.
type asker func() (firstByte time.Duration, err error)

// entryPoints are the routes for speech. Each connects a client.
func entryPoints() []struct {
	name    string
	connect func(b *testing.B, s speaker, client int) asker
} {
	return []struct {
		name    string
		connect func(*testing.B, speaker, int) asker
	}{{"bytes", connectBytes}, {"get", connectGet}, {"socket", connectSocket}}
}

func connectBytes(b *testing.B, s speaker, _ int) asker {
	conn, request := dial(b, s.app.PublicAddr()), s.order(enginetest.Sentence, mp3())
	return func() (time.Duration, error) { return conn.ask(request) }
}

func connectGet(b *testing.B, s speaker, _ int) asker {
	conn := dial(b, s.app.PublicAddr())
	query := url.Values{"text": {enginetest.Sentence}, "voice": {"leah"}, "language": {"en"}}
	request := fmt.Sprintf("GET /v1/ai/speech?%s HTTP/1.1\r\nHost: recital\r\nx-api-key: %s\r\n\r\n", query.Encode(),
		s.keys[0])
	return func() (time.Duration, error) { return conn.ask(request) }
}

// connectSocket opens a session in the dialect that acknowledges flushes. The time starts at the message that ends the
// first clause.
func connectSocket(b *testing.B, s speaker, client int) asker {
	ws, _, err := websocket.DefaultDialer.Dial("ws://"+s.app.PublicAddr()+"/v1/ai/speech/stream", nil)
	require.NoError(b, err)
	b.Cleanup(func() { _ = ws.Close() })
	opening := fmt.Sprintf(`{"X-API-Key":%q,"voice":"leah","language":"en","protocol_version":2}`,
		s.keys[client%len(s.keys)])
	require.NoError(b, ws.WriteMessage(websocket.TextMessage, []byte(opening)))
	clause, rest, _ := strings.Cut(enginetest.Sentence, ", ")
	return func() (time.Duration, error) {
		if err := ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"text":%q}`, clause+", ")); err != nil {
			return 0, err
		}
		begun := time.Now()
		if err := ws.WriteMessage(websocket.TextMessage,
			fmt.Appendf(nil, `{"text":%q,"command":"flush","nonce":1}`, rest)); err != nil {
			return 0, err
		}
		return hearFlush(ws, begun)
	}
}

// hearFlush reads up to the acknowledgement and returns the time to the first audio.
func hearFlush(ws *websocket.Conn, begun time.Time) (firstByte time.Duration, err error) {
	for {
		kind, message, err := ws.ReadMessage()
		switch {
		case err != nil:
			return 0, err
		case kind == websocket.BinaryMessage && firstByte == 0:
			firstByte = time.Since(begun)
		case kind == websocket.TextMessage && strings.Contains(string(message), `"complete"`):
			return firstByte, nil
		case kind == websocket.TextMessage:
			return 0, fmt.Errorf("unexpected message: %s", message)
		}
	}
}

// BenchmarkFirstAudioByte measures the time to the first byte of mp3 for a text of twenty words, by entry point and
// number of clients, compared with worker and encoder alone with the same number of callers. In an ideal queue each
// waits for its turn among all.
func BenchmarkFirstAudioByte(b *testing.B) {
	s := openSpeaker(b)
	for _, entry := range entryPoints() {
		for _, load := range []struct{ clients, each int }{{1, 16}, {8, 4}, {32, 4}, {128, 1}} {
			b.Run(fmt.Sprintf("%s/%d", entry.name, load.clients), func(b *testing.B) {
				askers := make([]asker, load.clients)
				for i := range askers {
					askers[i] = entry.connect(b, s, i)
				}
				s.compareFirstBytes(b, askers, load.each)
			})
		}
	}
}

// compareFirstBytes alternates between all clients and the same number of callers of the bare pipeline.
func (s speaker) compareFirstBytes(b *testing.B, askers []asker, each int) {
	_, seconds, err := s.bare.speak(b.Context(), enginetest.Sentence, mp3())
	require.NoError(b, err)
	_, err = askers[0]()
	require.NoError(b, err)

	var ours, its times
	var oursRate, itsRate rate
	for b.Loop() {
		require.NoError(b, oursRate.window(len(askers), each, func(client int) (float64, error) {
			firstByte, err := askers[client]()
			ours.add(firstByte)
			return seconds, err
		}))
		require.NoError(b, itsRate.window(len(askers), each, func(int) (float64, error) {
			firstByte, seconds, err := s.bare.speak(b.Context(), enginetest.Sentence, mp3())
			its.add(firstByte)
			return seconds, err
		}))
	}
	compareTimes(b, &ours, &its)
	benchtest.Compare(b, "audio-s/s", oursRate.perSecond(), itsRate.perSecond())
	ideal := float64(len(askers)) * seconds / itsRate.perSecond()
	benchtest.Compare(b, "p99-in-queue-ms", milliseconds(ours.quantile(0.99)), ideal*1000)
	b.ReportMetric(float64(len(ours.all)), "samples")
	benchtest.Finish(b)
}
