package synthesis

import (
	"context"
	"time"

	"github.com/recital-tts/recital/internal/speech/audio"
)

// encode passes samples to the encoder.
func (s *Session) encode(ctx context.Context, pcm []byte) ([]byte, error) {
	if len(pcm) == 0 {
		return nil, nil
	}
	s.samples += int64(len(pcm) / 2)
	if quiet := audio.TrailingSilence(pcm); quiet == len(pcm)/2 {
		s.quiet += int64(quiet)
	} else {
		s.quiet = int64(quiet)
	}
	return s.encoder.Encode(ctx, pcm)
}

// expel makes the encoder release buffered audio, as far as the next part requires it.
func (s *Session) expel(ctx context.Context, e end) ([]byte, error) {
	switch {
	case e.last:
		s.finished = true
		return s.encoder.Finish(ctx)
	case e.flush:
		missing := int64(s.synthesis.Audio.Lag().Seconds()*float64(s.synthesiser.Speaker.SampleRate())) - s.quiet
		return s.encode(ctx, make([]byte, 2*max(missing, 0)))
	}
	return nil, nil
}

// quietAfter returns the idle time after which the encoder is returned; 0 if there is none.
func (s *Session) quietAfter() time.Duration {
	switch {
	case s.encoder == nil || s.resting:
		return 0
	case s.synthesiser.QuietEncoder > 0:
		return s.synthesiser.QuietEncoder
	}
	return quietEncoder
}

// rest returns the encoder until there is more text, after the delivery of its buffered audio.
func (s *Session) rest(ctx context.Context) error {
	if err := s.deliverTail(ctx, end{flush: true}); err != nil {
		return err
	}
	s.resting = true
	return s.encoder.Rest(ctx)
}

// now returns the length of the audio so far, in milliseconds.
func (s *Session) now() int64 { return s.samples * 1000 / int64(s.synthesiser.Speaker.SampleRate()) }

// maxChunk is the size in bytes of the largest chunk that clients handle well.
const maxChunk = 64 << 10

// chunkLength returns the duration of a chunk of maxChunk bytes, in milliseconds.
func chunkLength(spec audio.Spec) int64 {
	return min(2000, int64(maxChunk*1000/(spec.SampleRate*spec.BytesPerSample())))
}
