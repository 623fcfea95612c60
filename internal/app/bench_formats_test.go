package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkFormats measures seconds of audio a second, by format and number of clients, compared with worker and
// encoder alone, and with the encoder alone.
func BenchmarkFormats(b *testing.B) {
	s := openSpeaker(b)
	spoken, inputRate := s.bare.samples(b, enginetest.Sentence)
	for _, format := range audio.Formats() {
		spec := audio.Spec{Format: format, SampleRate: audio.DefaultSampleRate(format)}
		for _, load := range []struct{ clients, each int }{{1, 8}, {8, 2}} {
			b.Run(fmt.Sprintf("%s/%d", format, load.clients), func(b *testing.B) {
				conns, request := dialAll(b, load.clients, s.app.PublicAddr()), s.order(enginetest.Sentence, spec)
				var ours, bare, encoder rate
				for b.Loop() {
					require.NoError(b, ours.window(load.clients, load.each, func(client int) (float64, error) {
						_, err := conns[client].ask(request)
						return secondsOf(spoken, inputRate), err
					}))
					require.NoError(b, bare.window(load.clients, load.each, func(int) (float64, error) {
						_, seconds, err := s.bare.speak(b.Context(), enginetest.Sentence, spec)
						return seconds, err
					}))
					require.NoError(b, encoder.window(load.clients, load.each, func(int) (float64, error) {
						return secondsOf(spoken, inputRate), s.bare.encode(b.Context(), spec, spoken, inputRate)
					}))
				}
				benchtest.Compare(b, "audio-s/s", ours.perSecond(), bare.perSecond())
				b.ReportMetric(encoder.perSecond(), "encoder-audio-s/s")
				benchtest.Finish(b)
			})
		}
	}
}

// samples returns the engine's audio of a text, in its pieces, and the sample rate in Hz.
func (p pipeline) samples(b *testing.B, text string) (pieces [][]byte, rate int) {
	b.Helper()
	stream := p.speaker.Speak(b.Context(), speech.Request{Text: text, Voice: speech.Voices()[0], Language: "en-us"})
	defer stream.Close()
	for {
		piece, err := stream.Next(b.Context())
		if errors.Is(err, io.EOF) {
			return pieces, stream.SampleRate()
		}
		require.NoError(b, err)
		pieces = append(pieces, piece.PCM)
	}
}

func secondsOf(pieces [][]byte, rate int) float64 {
	bytes := 0
	for _, piece := range pieces {
		bytes += len(piece)
	}
	return float64(bytes) / 2 / float64(rate)
}

// encode encodes pieces of audio.
func (p pipeline) encode(ctx context.Context, spec audio.Spec, pieces [][]byte, inputRate int) error {
	encoder, err := p.encoders.Open(ctx, spec, inputRate)
	if err != nil {
		return err
	}
	defer encoder.Close()
	for _, piece := range pieces {
		if _, err := encoder.Encode(ctx, slices.Clone(piece)); err != nil { // the encoder keeps the slice
			return err
		}
	}
	_, err = encoder.Finish(ctx)
	return err
}
