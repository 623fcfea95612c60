package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/audio"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/speech"
)

// Session speaks a text that grows. Its methods Add, Flush, Reset and Finish are called by one goroutine, which hears
// the client, while another is in Speak. The audio is one stream from the first word to the last.
type Session struct {
	synthesiser *Synthesiser
	order       Synthesis
	times       bool
	script      *script

	// Used by Speak alone.
	to       Listener
	encoder  audio.Encoder
	samples  int64             // given to the encoder
	quiet    int64             // samples of silence at the end of these
	finished bool              // the encoder has given all
	position eventlog.Position // of the last settlement
}

// Listener takes what a Session has to say, in order. A call returns when its argument has been handed to the client;
// an error ends the session.
type Listener interface {
	Audio(Chunk) error
	// Flushed comes when all audio of a flush has been handed over and settled; the nonce is Flush's.
	Flushed(nonce *int64) error
	// Cleared comes when the text was dropped; the nonce is Reset's.
	Cleared(nonce *int64) error
}

// Chunk is a piece of the audio.
type Chunk struct {
	Audio []byte // may be empty while an encoder holds audio back
	Start int64  // milliseconds into the audio of the session
	// Timings of the words in this chunk, in seconds from Start; only where they were asked for. Joined, the texts of all
	// chunks are the text of the session.
	Timings     []speech.Timing
	BufferEmpty bool // with Timings: all text that has come was spoken
}

// ErrDrained is how Speak ends when the server drains.
var ErrDrained = errors.New("the session was drained")

var (
	errReset   = errors.New("the text was reset")
	errDawdled = domain.Refuse(domain.Invalid, "The audio was not taken in time")
)

// Converse opens a session. The order's text is not used. With times, chunks carry timings. Once draining is closed, what
// was flushed is still spoken and all other text is dropped.
func (s *Synthesiser) Converse(order Synthesis, times bool, draining <-chan struct{}) *Session {
	return &Session{synthesiser: s, order: order, times: times, script: newScript(order.Language, draining)}
}

// Add appends to the text. It waits while much text is still to be spoken, until ctx ends.
func (s *Session) Add(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	return s.script.add(ctx, entry{text: text})
}

// Flush has all text so far spoken, also what is no whole clause.
func (s *Session) Flush(ctx context.Context, nonce *int64) error {
	return s.script.add(ctx, entry{mark: markFlush, nonce: nonce})
}

// Finish has all text spoken and ends the session. Later text is ignored.
func (s *Session) Finish(ctx context.Context) error {
	return s.script.add(ctx, entry{mark: markFinish})
}

// Reset drops the text that was not spoken, and stops the audio that was not handed over.
func (s *Session) Reset(nonce *int64) { s.script.reset(nonce) }

// Speak hands the audio to a listener as the text comes. It returns nil after Finish, when the settlement is visible in
// the account or after 2 s; ErrDrained when the server drains; or an error, which ctx gives when it ends. In every case what was
// handed over has been settled: a segment counts when all audio that came with it was taken.
func (s *Session) Speak(ctx context.Context, to Listener) error {
	s.to = to
	defer s.close()
	for {
		next, err := s.script.next(ctx)
		if err != nil {
			return err
		}
		switch next.mark {
		case markNone:
			err = s.speakUnit(ctx, next.unit)
		case markFlush:
			err = to.Flushed(next.nonce)
		case markReset:
			err = s.clear(ctx, next)
		case markFinish:
			return s.end(ctx)
		case markDrain:
			return errors.Join(s.finishAudio(ctx), ErrDrained)
		}
		if err != nil {
			return err
		}
	}
}

// clear tells that text was dropped. The flushes that it overtook are told too: nothing of theirs is to come.
func (s *Session) clear(ctx context.Context, reset step) error {
	if err := s.dropTail(ctx); err != nil {
		return err
	}
	for _, nonce := range reset.overtaken {
		if err := s.to.Flushed(nonce); err != nil {
			return err
		}
	}
	return s.to.Cleared(reset.nonce)
}

func (s *Session) end(ctx context.Context) error {
	if err := s.finishAudio(ctx); err != nil {
		return err
	}
	if s.position != (eventlog.Position{}) {
		wait, cancel := context.WithTimeout(ctx, visibleTimeout)
		defer cancel()
		_ = s.synthesiser.ReadModels.Wait(wait, s.position, usageModel) // the account is told late, and not wrongly
	}
	return nil
}

func (s *Session) close() {
	if s.encoder != nil {
		s.encoder.Close()
	}
}

// longest is how long a unit may take to be handed over, so that it is settled before its reservation expires.
func (s *Session) longest() time.Duration { return s.synthesiser.Ledger.longest * 9 / 10 }

func (s *Session) openEncoder(ctx context.Context) (err error) {
	if s.encoder != nil {
		return nil
	}
	s.encoder, err = s.synthesiser.Encoders.Open(ctx, s.order.Audio, s.synthesiser.Speaker.SampleRate())
	if err != nil {
		return fmt.Errorf("opening an encoder: %w", err)
	}
	return nil
}
