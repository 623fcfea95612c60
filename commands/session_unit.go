package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/recital-tts/recital/internal/audio"
	"github.com/recital-tts/recital/internal/speech"
)

// speakUnit reserves, speaks and settles a unit. A reset ends it without an error. Where the account's plan limits how
// many syntheses run at once, the unit waits for its turn: a session that is idle takes nobody's.
func (s *Session) speakUnit(ctx context.Context, u unit) error {
	whole, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	s.script.speaking(interrupt)
	defer s.script.speaking(nil)
	slot, err := s.synthesiser.Slots.Take(whole, s.order.Account, s.order.Plan)
	if err != nil {
		return unlessReset(err)
	}
	defer slot.Release()
	dawdling := time.AfterFunc(s.longest(), func() { interrupt(errDawdled) })
	defer dawdling.Stop()

	first := s.start(whole, u.parts[0])
	reservation, err := s.reserve(ctx, u)
	if err != nil {
		first.Close()
		return err
	}
	handed, speaking := s.speakParts(ctx, whole, u, first)
	if err := s.settle(ctx, reservation, handed); err != nil {
		return errors.Join(speaking, err)
	}
	return unlessReset(speaking)
}

func unlessReset(err error) error {
	if errors.Is(err, errReset) {
		return nil
	}
	return err
}

// start begins the synthesis of a part, which goes on until ctx ends.
func (s *Session) start(ctx context.Context, p part) *speech.Stream {
	request := s.order.request()
	request.Language = p.language
	return s.synthesiser.Speaker.SpeakPart(ctx, request, p.Part)
}

// reserve sets the unit's characters aside while its first part is synthesised.
func (s *Session) reserve(ctx context.Context, u unit) (Reservation, error) {
	var reservation Reservation
	var begin errgroup.Group
	begin.Go(func() (err error) {
		reservation, err = s.synthesiser.Ledger.Reserve(ctx, s.order.Account, u.characters(), s.order.Actor)
		return err
	})
	begin.Go(func() error { return s.openEncoder(ctx) })
	if err := begin.Wait(); err != nil {
		s.synthesiser.Ledger.GiveBack(reservation)
		return Reservation{}, fmt.Errorf("beginning to speak: %w", err)
	}
	return reservation, nil
}

// speakParts hands the parts over one after the other, each synthesised while the one before is handed over. It returns
// the characters of those that were taken. Where that takes long, it leaves the rest to the next unit, so that the
// reservation does not expire meanwhile.
func (s *Session) speakParts(ctx, whole context.Context, u unit, stream *speech.Stream) (handed int64, err error) {
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
		if err := s.hand(ctx, whole, spoken{stream, p, more}, end{flush: ends && u.flush, last: ends && u.last, empty: ends && u.empty}); err != nil {
			return handed, err
		}
		handed += int64(p.Segment.Characters)
		if ends {
			break
		}
		if time.Since(begun) > s.longest()/2 {
			s.script.giveBack(rest)
			break
		}
		more()
		stream.Close()
		stream, ahead = ahead, nil
	}
	return handed, nil
}

// spoken is a part that is being synthesised.
type spoken struct {
	stream *speech.Stream
	part   part
	more   func() // has the next part synthesised, too
}

// end says what follows a part.
type end struct {
	flush bool // no audio may stay in the encoder
	last  bool // nothing follows
	empty bool // nothing waits behind the flush
}

// hand hands one part over.
func (s *Session) hand(ctx, whole context.Context, p spoken, e end) error {
	if s.times {
		return s.handTimed(ctx, whole, p, e)
	}
	for {
		piece, err := p.stream.Next(whole)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return because(whole, err)
		}
		p.more()
		start := s.now()
		encoded, err := s.encode(ctx, piece.PCM)
		if err != nil {
			return err
		}
		if err := s.send(Chunk{Audio: encoded, Start: start}); err != nil {
			return err
		}
	}
	start := s.now()
	encoded, err := s.expel(ctx, e)
	if err != nil {
		return err
	}
	return s.send(Chunk{Audio: encoded, Start: start})
}

// handTimed hands a part over in chunks that carry the times of their words. Those are known when the part has been
// synthesised.
func (s *Session) handTimed(ctx, whole context.Context, p spoken, e end) error {
	pcm, timings, err := s.record(whole, p)
	if err != nil {
		return because(whole, err)
	}
	pieces := cutTimed(pcm, timings, s.synthesiser.Speaker.SampleRate(), chunkLength(s.order.Audio))
	var held timedPiece // whose audio the encoder holds back
	start := s.now()
	for i, piece := range pieces {
		if whole.Err() != nil {
			return because(whole, whole.Err())
		}
		encoded, err := s.encode(ctx, piece.pcm)
		if err != nil {
			return err
		}
		held.extend(piece)
		last := i == len(pieces)-1
		if last {
			before := s.now()
			tail, err := s.expel(ctx, e)
			if err != nil {
				return err
			}
			encoded = append(encoded, tail...)
			held.lengthen(s.now() - before)
		}
		if len(encoded) == 0 && !last {
			continue
		}
		if err := s.to.Audio(Chunk{Audio: encoded, Start: start, Timings: held.timings, BufferEmpty: last && e.empty}); err != nil {
			return err
		}
		held, start = timedPiece{}, s.now()
	}
	return nil
}

// record waits for all of a part. None of it has left before, so a worker that dies even in the middle costs only a
// second try.
func (s *Session) record(whole context.Context, p spoken) ([]byte, []speech.Timing, error) {
	pcm, timings, err := collect(whole, p.stream, p.more)
	if !errors.Is(err, speech.ErrEngineFailed) || whole.Err() != nil {
		return pcm, timings, err
	}
	again := s.start(whole, p.part)
	defer again.Close()
	return collect(whole, again, p.more)
}

func collect(ctx context.Context, stream *speech.Stream, more func()) (pcm []byte, timings []speech.Timing, err error) {
	for {
		piece, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			return pcm, timings, nil
		}
		if err != nil {
			return nil, nil, err
		}
		more()
		pcm = append(pcm, piece.PCM...)
		timings = append(timings, piece.Timings...)
	}
}

// because tells why a unit was stopped.
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

// settle goes on when the client has gone: what it took is to be paid.
func (s *Session) settle(ctx context.Context, r Reservation, handed int64) error {
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	position, err := s.synthesiser.Ledger.Settle(settle, r, handed)
	if err != nil {
		return fmt.Errorf("settling: %w", err)
	}
	s.position = position
	return nil
}

// finishAudio hands over what the encoder still holds, if it has ever been given anything.
func (s *Session) finishAudio(ctx context.Context) error {
	if s.encoder == nil || s.finished {
		return nil
	}
	start := s.now()
	encoded, err := s.expel(ctx, end{last: true})
	if err != nil {
		return err
	}
	if s.times && len(encoded) > 0 {
		return s.to.Audio(Chunk{Audio: encoded, Start: start, BufferEmpty: true})
	}
	return s.send(Chunk{Audio: encoded, Start: start})
}

// dropTail takes out of the encoder what was not handed over when the text was reset. Only a container that would
// break without it is handed over.
func (s *Session) dropTail(ctx context.Context) error {
	if s.encoder == nil || s.finished {
		return nil
	}
	start := s.now()
	encoded, err := s.expel(ctx, end{flush: true})
	if err != nil || s.order.Audio.Format != audio.WebM {
		return err
	}
	return s.send(Chunk{Audio: encoded, Start: start})
}
