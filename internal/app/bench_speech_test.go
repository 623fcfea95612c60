package app_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/audio"
	"github.com/recital-tts/recital/internal/audio/codec"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/workers"
)

// pipeline is worker and encoder without anything around them: pools of the same sizes as the recitald's.
type pipeline struct {
	speaker  *speech.Speaker
	encoders audio.Encoders
}

func openPipeline(b *testing.B) pipeline {
	b.Helper()
	command := func(mode string) workers.Command {
		return workers.Command{Path: speechworker, Args: []string{mode}, Log: io.Discard}
	}
	engines, err := worker.Open(worker.Config{Command: command("engine")})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, engines.Close()) })
	codecs, err := codec.Open(codec.Config{Command: command("codec")})
	require.NoError(b, err)
	b.Cleanup(codecs.Close)
	return pipeline{speaker: speech.NewSpeaker(engines), encoders: audio.NewEncoders(codecs)}
}

// speak makes the mp3 of twenty words, and tells when its first byte was there and how long it lasts in seconds.
func (p pipeline) speak(ctx context.Context) (firstByte time.Duration, seconds float64, err error) {
	begun := time.Now()
	stream := p.speaker.Speak(ctx, speech.Request{Text: enginetest.Sentence, Voice: speech.Voices()[0]})
	defer stream.Close()
	encoder, err := p.encoders.Open(ctx, audio.Spec{Format: audio.MP3, SampleRate: 24000}, stream.SampleRate())
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

func speechRequest(key string) string {
	return post("/v1/ai/speech/bytes", "x-api-key: "+key+"\r\n", `{"text":"`+enginetest.Sentence+`","voice":"leah","language":"en"}`)
}

// BenchmarkFirstAudioByte is the time to the first byte of mp3 for one client, beside worker and encoder alone. The
// target is a median within 2.0 times.
func BenchmarkFirstAudioByte(b *testing.B) {
	cfg := config(b)
	a := open(b, cfg)
	bare := openPipeline(b)
	conn, request := dial(b, a.PublicAddr()), speechRequest(secret(b, cfg, "dev-api-key"))
	var ours, its times
	for b.Loop() {
		firstByte, err := conn.ask(request)
		require.NoError(b, err)
		ours.add(firstByte)

		firstByte, _, err = bare.speak(b.Context())
		require.NoError(b, err)
		its.add(firstByte)
	}
	report(b, "", &ours, &its)
	logLoad(b)
}

// BenchmarkThroughput32 is how many seconds of audio 32 clients get in a second, beside worker and encoder alone under
// 32 callers. The targets are 70 % of it, and a p99 of the first byte within 3 times that of an ideal queue, in which
// each waits for its turn among the 32.
func BenchmarkThroughput32(b *testing.B) {
	const clients, each = 32, 4
	cfg := config(b)
	a := open(b, cfg)
	bare := openPipeline(b)
	conns, request := dialAll(b, clients, a.PublicAddr()), speechRequest(secret(b, cfg, "dev-api-key"))
	_, seconds, err := bare.speak(b.Context())
	require.NoError(b, err)

	var ours, its times
	var oursRate, itsRate rate
	var spoken atomic.Int64
	for b.Loop() {
		require.NoError(b, oursRate.window(clients, each, func(client int) (float64, error) {
			firstByte, err := conns[client].ask(request)
			ours.add(firstByte)
			return seconds, err
		}))
		require.NoError(b, itsRate.window(clients, each, func(int) (float64, error) {
			firstByte, seconds, err := bare.speak(b.Context())
			its.add(firstByte)
			spoken.Add(1)
			return seconds, err
		}))
	}
	report(b, "first-", &ours, &its)
	reportRates(b, "audio-s/s", &oursRate, &itsRate)
	ideal := clients * itsRate.took.Seconds() / float64(spoken.Load())
	b.ReportMetric(ours.quantile(0.99).Seconds()/ideal, "first-p99-to-ideal-queue")
	logLoad(b)
}
