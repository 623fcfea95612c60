package synthesis

import (
	"context"
	"errors"
	"fmt"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
)

// Session speaks a text that arrives in pieces. Its methods Add, Flush, Reset and Finish are called by one goroutine,
// which reads from the client, while another one is in Speak. The audio is a single stream.
type Session struct {
	*script
	synthesiser *Synthesiser
	synthesis   Synthesis
	times       bool

	// Used only by Speak.
	to       Listener
	watch    watch        // of the unit
	voice    speech.Voice // of the unit: a deleted voice is not used for the next one
	encoder  audio.Encoder
	samples  int64             // passed to the encoder
	quiet    int64             // trailing samples of silence
	finished bool              // the encoder was finished
	resting  bool              // the encoder was returned
	position eventlog.Position // of the last settlement, or of the clip
	models   []readmodel.Model // those that contain it
	recorder *clipRecorder     // the clip; nil before speech begins, and if none is saved
}

// Listener receives the output of a Session, in order. A call returns when its argument has been delivered to the
// client; an error ends the session.
type Listener interface {
	Audio(Chunk) error
	// Flushed is called when all audio of a flush has been delivered and settled; the nonce is Flush's.
	Flushed(nonce *int64) error
	// Cleared is called after text was dropped; the nonce is Reset's.
	Cleared(nonce *int64) error
}

// Chunk is a piece of the audio.
type Chunk struct {
	Audio []byte // may be empty while an encoder holds audio back
	Start int64  // milliseconds into the audio of the session
	// Timings of the words in this chunk, in seconds from Start; only if requested. Concatenated, the texts of all
	// chunks are the text of the session.
	Timings     []speech.Timing
	BufferEmpty bool // with Timings: all text received so far was spoken
	Unspeakable bool // with Timings: the engine could not speak their text, which does not count
}

// ErrDrained is returned by Speak when the server drains.
var ErrDrained = errors.New("the session was drained")

var (
	errReset   = errors.New("the text was reset")
	errTooSlow = domain.Refuse(domain.Invalid, "The audio was not taken in time")
)

// Converse opens a session. The text of the synthesis is not used. If times is set, chunks have timings. Once draining
// is closed, flushed text is still spoken and all other text is dropped. Errors: those of Voices.
func (s *Synthesiser) Converse(
	ctx context.Context, synthesis Synthesis, times bool, draining <-chan struct{},
) (*Session, error) {
	if _, err := s.Voices.Speaking(ctx, synthesis.Account, synthesis.Voice); err != nil {
		return nil, fmt.Errorf("opening a session: %w", err)
	}
	return &Session{synthesiser: s, synthesis: synthesis, times: times, script: newScript(synthesis.Language, draining)},
		nil
}

// Speak delivers the audio to a listener as the text arrives. It returns nil after Finish, when the settlement is
// visible in the account or after 2 s; ErrDrained when the server drains; or an error, such as the error of ctx. In
// every case the delivered part has been settled: a segment counts when all its audio was accepted.
func (s *Session) Speak(ctx context.Context, to Listener) error {
	s.to = watchedListener{to, ctx, &s.watch}
	defer s.close()
	err := s.speak(ctx)
	s.saveClip(ctx)
	if err == nil {
		s.awaitVisible(ctx)
	}
	return err
}

func (s *Session) speak(ctx context.Context) error {
	for {
		next, err := s.script.next(ctx, s.quietAfter())
		if err != nil {
			return err
		}
		switch next.mark {
		case markNone:
			err = s.speakUnit(ctx, next.unit)
		case markFlush:
			err = s.to.Flushed(next.nonce)
		case markReset:
			err = s.clear(ctx, next.reset)
		case markQuiet:
			err = s.rest(ctx)
		case markFinish:
			return s.finishAudio(ctx)
		case markDrain:
			return errors.Join(s.finishAudio(ctx), ErrDrained)
		}
		if err != nil {
			return err
		}
	}
}

// clear reports that text was dropped. It also reports the overtaken flushes, because no audio will follow for them.
func (s *Session) clear(ctx context.Context, r reset) error {
	if err := s.dropTail(ctx); err != nil {
		return err
	}
	for _, nonce := range r.overtaken {
		if err := s.to.Flushed(nonce); err != nil {
			return err
		}
	}
	return s.to.Cleared(r.nonce)
}

// awaitVisible waits until the account shows the settlement. If that takes too long, the account is updated later.
func (s *Session) awaitVisible(ctx context.Context) {
	if s.position != (eventlog.Position{}) {
		_ = s.synthesiser.awaitVisible(ctx, s.position, s.models)
	}
}

func (s *Session) close() {
	s.recorder.discard()
	if s.encoder != nil {
		s.encoder.Close()
	}
}

func (s *Session) openEncoder(ctx context.Context) (err error) {
	if s.encoder != nil {
		s.resting = false
		return s.encoder.Wake(ctx)
	}
	s.encoder, err = s.synthesiser.Encoders.Open(ctx, s.synthesis.Audio, s.synthesiser.Speaker.SampleRate())
	if err != nil {
		return fmt.Errorf("opening an encoder: %w", err)
	}
	return nil
}
