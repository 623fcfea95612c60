package synthesis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/rendering"
)

// speakUnit reserves, speaks and settles a unit. A reset ends it without an error. If the account's plan limits
// concurrent syntheses, the unit waits for a slot: an idle session has none.
func (s *Session) speakUnit(ctx context.Context, u unit) error {
	whole, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	s.script.speaking(interrupt)
	defer s.script.speaking(nil)
	slot, err := s.synthesiser.takeTurn(whole, s.synthesis.Account, s.synthesis.Plan)
	if err != nil {
		return unlessReset(err)
	}
	defer slot.Release()
	s.watch = watch{begun: time.Now()}
	delivered, err := s.speakInSlot(ctx, whole, interrupt, u)
	s.synthesiser.observe(ctx, Observation{Kind: Spoken, Format: s.synthesis.Audio.Format, Characters: delivered}, s.watch,
		err)
	return err
}

// speakInSlot returns the number of settled characters.
func (s *Session) speakInSlot(
	ctx, whole context.Context, interrupt context.CancelCauseFunc, u unit,
) (delivered int64, err error) {
	timeout := time.AfterFunc(s.synthesiser.longest(), func() { interrupt(errTooSlow) })
	defer timeout.Stop()

	if s.voice, err = s.synthesiser.Voices.Speaking(whole, s.synthesis.Account, s.synthesis.Voice); err != nil {
		return 0, unlessReset(because(whole, err))
	}
	lexicon, err := s.synthesiser.lexicon(whole, s.synthesis.Account)
	if err != nil {
		return 0, unlessReset(because(whole, err))
	}
	u.parts = pronounce(lexicon, u.parts)
	if err := s.keep(ctx); err != nil {
		return 0, err
	}
	first := s.start(whole, u.parts[0])
	reservation, err := s.reserve(ctx, u)
	if err != nil {
		first.Close()
		return 0, err
	}
	delivered, speaking := s.speakParts(ctx, whole, u, first)
	position, err := s.synthesiser.settle(ctx, reservation, delivered)
	if err != nil {
		return 0, errors.Join(speaking, err)
	}
	s.position, s.models = position, []readmodel.Model{readmodel.Usage}
	return delivered, unlessReset(speaking)
}

// pronounce applies a lexicon to parts.
func pronounce(lexicon *speech.Lexicon, parts []part) []part {
	out := make([]part, 0, len(parts))
	for _, p := range parts {
		pieces := lexicon.Pronounce([]speech.Segment{p.Segment}, p.language)
		for i, piece := range pieces {
			of := p
			of.Segment, of.First, of.Last = piece, p.First && i == 0, p.Last && i == len(pieces)-1
			out = append(out, of)
		}
	}
	return out
}

func unlessReset(err error) error {
	if errors.Is(err, errReset) {
		return nil
	}
	return err
}

// start begins the synthesis of a part, which continues until ctx ends.
func (s *Session) start(ctx context.Context, p part) *speech.Stream {
	request := s.synthesis.request(s.voice)
	request.Language = p.language
	return s.synthesiser.Speaker.SpeakPart(ctx, request, p.Part)
}

// reserve reserves the unit's characters while its first part is being synthesised.
func (s *Session) reserve(ctx context.Context, u unit) (ledger.Reservation, error) {
	var reservation ledger.Reservation
	var begin errgroup.Group
	begin.Go(func() (err error) {
		reservation, err = s.synthesiser.Ledger.Reserve(ctx, s.synthesis.Account, u.characters(), s.synthesis.Origin)
		return err
	})
	begin.Go(func() error { return s.openEncoder(ctx) })
	if err := begin.Wait(); err != nil {
		s.synthesiser.Ledger.GiveBack(reservation)
		return ledger.Reservation{}, fmt.Errorf("beginning to speak: %w", err)
	}
	s.synthesis.Plan = reservation.Allowance.Plan // the plan may have changed since the session was opened
	return reservation, nil
}

// speakParts delivers the parts one after another, synthesising each during the delivery of its predecessor. It returns
// the number of accepted characters. If it takes long, it leaves the rest to the next unit, so that the reservation
// does not expire in the meantime.
func (s *Session) speakParts(ctx, whole context.Context, u unit, stream *speech.Stream) (delivered int64, err error) {
	begun := time.Now()
	var ahead *speech.Stream
	defer func() {
		stream.Close()
		if ahead != nil {
			ahead.Close()
		}
	}()
	for i, p := range u.parts {
		rest := u.parts[i+1:]
		more := func() {
			if ahead == nil && len(rest) > 0 {
				ahead = s.start(whole, rest[0])
			}
		}
		ends := len(rest) == 0
		speaking := &spoken{whole: whole, stream: stream, part: p, more: more}
		if err := s.deliver(ctx, speaking, end{flush: ends && u.flush, last: ends && u.last, empty: ends &&
			u.empty}); err != nil {
			return delivered, err
		}
		delivered += speaking.characters
		s.recorder.addText(p.Segment.Text)
		if ends {
			break
		}
		if time.Since(begun) > s.synthesiser.longest()/2 {
			s.script.giveBack(rest)
			break
		}
		more()
		stream.Close()
		stream, ahead = ahead, nil
	}
	return delivered, nil
}

// spoken is a part that is being synthesised.
type spoken struct {
	whole      context.Context // of the unit: a reset ends it, and leaves the encoder consistent
	stream     *speech.Stream
	part       part
	more       func() // starts the synthesis of the next part
	characters int64  // characters that count
}

// Next implements rendering.Source. It is called with the context of the encoder, and waits until the unit's context
// ends.
func (p *spoken) Next(context.Context) (speech.Piece, error) {
	piece, err := p.stream.Next(p.whole)
	switch {
	case err == nil:
		if piece.SegmentEnd {
			p.characters += spokenCharacters(piece)
		}
		p.more()
	case !errors.Is(err, io.EOF):
		err = because(p.whole, err)
	}
	return piece, err
}

// end describes the end of a part.
type end struct {
	flush bool // no audio may remain in the encoder
	last  bool // there is no later part
	empty bool // the queue after the flush is empty
}

// deliver delivers one part.
func (s *Session) deliver(ctx context.Context, p *spoken, e end) error {
	if s.times {
		return s.deliverTimed(ctx, p, e)
	}
	start := s.now()
	err := rendering.Render(ctx, p, s.encode, func(_ speech.Piece, encoded []byte) error {
		err := s.send(Chunk{Audio: encoded, Start: start})
		start = s.now()
		return err
	})
	if err != nil {
		return err
	}
	encoded, err := s.expel(ctx, e)
	if err != nil {
		return err
	}
	return s.send(Chunk{Audio: encoded, Start: start})
}

// deliverTimed delivers a part in chunks with the times of their words, which are known after its synthesis.
func (s *Session) deliverTimed(ctx context.Context, p *spoken, e end) error {
	pcm, timings, err := p.collect()
	if err != nil {
		return err
	}
	pieces := speech.CutPassages(pcm, timings, s.synthesiser.Speaker.SampleRate(), chunkLength(s.synthesis.Audio))
	var held speech.Passage // whose audio the encoder still buffers
	start := s.now()
	for i, piece := range pieces {
		if p.whole.Err() != nil {
			return because(p.whole, p.whole.Err())
		}
		encoded, err := s.encode(ctx, piece.PCM)
		if err != nil {
			return err
		}
		held.Extend(piece)
		last := i == len(pieces)-1
		if last {
			before := s.now()
			tail, err := s.expel(ctx, e)
			if err != nil {
				return err
			}
			encoded = append(encoded, tail...)
			held.Lengthen(s.now() - before)
		}
		if len(encoded) == 0 && !last {
			continue
		}
		chunk := Chunk{Audio: encoded, Start: start, Timings: held.Timings, BufferEmpty: last && e.empty, Unspeakable: last &&
			p.characters == 0}
		if err := s.to.Audio(chunk); err != nil {
			return err
		}
		held, start = speech.Passage{}, s.now()
	}
	return nil
}

// collect waits for the whole part.
func (p *spoken) collect() (pcm []byte, timings []speech.Timing, err error) {
	unchanged := func(_ context.Context, pcm []byte) ([]byte, error) { return pcm, nil }
	err = rendering.Render(p.whole, p, unchanged, func(piece speech.Piece, samples []byte) error {
		pcm, timings = append(pcm, samples...), append(timings, piece.Timings...)
		return nil
	})
	return pcm, timings, err
}

// because returns the reason why a unit was stopped.
func because(whole context.Context, err error) error {
	if cause := context.Cause(whole); cause != nil {
		return cause
	}
	return fmt.Errorf("speaking: %w", err)
}

func (s *Session) send(chunk Chunk) error {
	if len(chunk.Audio) == 0 {
		return nil
	}
	return s.to.Audio(chunk)
}

// finishAudio delivers the encoder's buffered audio, if it was ever used.
func (s *Session) finishAudio(ctx context.Context) error {
	if s.encoder == nil || s.finished {
		return nil
	}
	return s.deliverTail(ctx, end{last: true})
}

// deliverTail delivers the encoder's buffered audio, as far as the next part requires it.
func (s *Session) deliverTail(ctx context.Context, e end) error {
	start := s.now()
	encoded, err := s.expel(ctx, e)
	if err != nil {
		return err
	}
	if s.times && len(encoded) > 0 {
		return s.to.Audio(Chunk{Audio: encoded, Start: start, BufferEmpty: true})
	}
	return s.send(Chunk{Audio: encoded, Start: start})
}

// dropTail removes the audio of before a reset from the encoder. It is delivered only if the container would be invalid
// without it.
func (s *Session) dropTail(ctx context.Context) error {
	if s.encoder == nil || s.finished {
		return nil
	}
	start := s.now()
	encoded, err := s.expel(ctx, end{flush: true})
	if err != nil || s.synthesis.Audio.Format != audio.WebM {
		return err
	}
	return s.send(Chunk{Audio: encoded, Start: start})
}
