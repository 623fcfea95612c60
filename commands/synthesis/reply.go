package synthesis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/rendering"
)

var errTaken = errors.New("the reply was executed or abandoned before")

// Reply is the audio of a synthesis in progress. It is run by one call of Write, or of Whole if the synthesis demands
// that. If neither is called before the context of Begin ends, the reservation and the slot are given back.
type Reply struct {
	synthesiser *Synthesiser
	synthesis   Synthesis
	voice       speech.Voice            // at the start: the reply continues after its deletion
	cast        map[string]speech.Voice // the voices named in markup
	lexicon     *speech.Lexicon
	until       time.Time    // when the reply is interrupted, so that it is settled before its reservation expires
	clip        clips.Draft  // of the clip to be saved; its id is "" if there is none
	kept        *clips.Audio // audio of the clip, collected by Write
	saved       bool         // the clip was saved
	wordTimes   string       // id under which the word times are stored; "" if they are not
	slot        *Slot
	whole       *spool.File // of a reply that Whole collects
	reservation ledger.Reservation
	stream      *speech.Stream
	encoder     audio.Encoder
	warning     string      // of the stream
	ahead       *ahead      // read before it is written
	taken       atomic.Bool // by Write, Whole or abandon

	watch     watch
	delivered int64             // characters of the delivered segments
	pcm       int64             // bytes of the encoded samples
	position  eventlog.Position // of the settlement, or of the clip after it
	models    []readmodel.Model // the read models that contain it
	stale     bool
	timings   []speech.Timing
}

// Begin reserves the characters of the text while the synthesis of its first segment is already running, and returns
// when the reservation is in the log. Errors before the reservation: *speech.MarkupError for invalid markup; those of
// Voices; *BusyError if too many syntheses of the account are running; ErrNoRoom and ErrNoShare if there is no place
// for a reply that is collected. Then: domain.PaymentRequired if the characters do not suffice.
func (s *Synthesiser) Begin(ctx context.Context, synthesis Synthesis) (*Reply, error) {
	begun := time.Now()
	reply, err := s.tryBegin(ctx, synthesis)
	if err != nil {
		s.observe(ctx, synthesis.observation(), watch{}, err)
		return nil, fmt.Errorf("beginning a synthesis: %w", err)
	}
	reply.watch.begun = begun
	context.AfterFunc(ctx, reply.abandon)
	return reply, nil
}

func (s *Synthesiser) tryBegin(ctx context.Context, synthesis Synthesis) (*Reply, error) {
	if err := synthesis.parse(); err != nil {
		return nil, err
	}
	reply := &Reply{synthesiser: s, synthesis: synthesis}
	if err := reply.resolveVoices(ctx); err != nil {
		return nil, err
	}
	reply.until = time.Now().Add(s.longest())
	var err error
	if reply.slot, err = s.Slots.Try(synthesis.Account, synthesis.Plan); err != nil {
		return nil, err
	}
	begun := false
	defer func() {
		if !begun { // also after a panic
			reply.abandon()
		}
	}()
	if err := reply.begin(ctx); err != nil {
		return nil, err
	}
	begun = true
	return reply, nil
}

// resolveVoices looks up the voices that speak, and the account's pronunciations.
func (r *Reply) resolveVoices(ctx context.Context) (err error) {
	speaking := func(id string) (speech.Voice, error) {
		return r.synthesiser.Voices.Speaking(ctx, r.synthesis.Account, id)
	}
	if r.voice, err = speaking(r.synthesis.Voice); err != nil {
		return err
	}
	if r.cast, err = speech.Cast(r.synthesis.markup, speaking); err != nil {
		return err
	}
	r.lexicon, err = r.synthesiser.lexicon(ctx, r.synthesis.Account)
	return err
}

func (r *Reply) begin(ctx context.Context) error {
	if err := errors.Join(r.claim(), r.draftClip(ctx), r.nameWordTimes()); err != nil {
		return err
	}
	request := r.synthesis.request(r.voice)
	request.Text, request.Markup = r.synthesis.Text, r.synthesis.markup
	request.Cast, request.Lexicon, request.Substitutes = r.cast, r.lexicon, true
	r.stream = r.synthesiser.Speaker.Speak(ctx, request)
	r.synthesis.billed = r.stream.Characters()

	begin, refused := errgroup.WithContext(ctx) // ends with the first error: a text is not measured in vain
	begin.Go(func() (err error) {
		r.reservation, err = r.synthesiser.Ledger.Reserve(ctx, r.synthesis.Account, r.synthesis.characters(),
			r.synthesis.Origin)
		return err
	})
	begin.Go(func() (err error) {
		r.encoder, err = r.synthesiser.Encoders.Open(refused, r.synthesis.Audio, r.stream.SampleRate())
		return err
	})
	begin.Go(func() error { return r.stream.Admitted(refused) })
	begin.Go(func() (err error) {
		r.warning, err = r.stream.Warning(refused)
		if other := speech.StandIn(r.synthesis.Save.Language); other != "" {
			r.warning = strings.TrimPrefix(r.warning+"; "+other, "; ")
		}
		return err
	})
	return begin.Wait()
}

// abandon gives back the slot and the reservation, unless the reply is being run: Begin failed, or the client
// disconnected before the first byte.
func (r *Reply) abandon() {
	if !r.taken.CompareAndSwap(false, true) {
		return
	}
	defer r.Release()
	r.synthesiser.Ledger.GiveBack(r.reservation)
	r.close()
}

// take makes the caller the only one that runs the reply.
func (r *Reply) take(ctx context.Context) error {
	if r.taken.CompareAndSwap(false, true) {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", errTaken, ctx.Err())
	}
	return errTaken
}

// Write writes the audio to w as it becomes available, settles the delivered part, even after an error, and returns
// when the settlement is visible in the account, but at most 2 s later. A segment counts when w has accepted all audio
// up to its end. It ends with an error after Synthesiser.Longest.
func (r *Reply) Write(ctx context.Context, w io.Writer) (err error) {
	if err := r.take(ctx); err != nil {
		return err
	}
	defer r.Release()
	defer func() { r.observe(ctx, err) }()
	speaking := r.speakInTime(ctx, r.kept.Tee(w))
	awaitWordTimes := r.storeWordTimes(ctx)
	defer awaitWordTimes()
	if err := r.settle(ctx); err != nil {
		return errors.Join(speaking, err)
	}
	if speaking != nil {
		return fmt.Errorf("streaming a synthesis: %w", speaking)
	}
	r.saveClip(ctx, r.kept)
	r.awaitVisible(ctx)
	return nil
}

// speakInTime leaves enough time for the settlement.
func (r *Reply) speakInTime(ctx context.Context, w io.Writer) error {
	ctx, cancel := context.WithDeadline(ctx, r.until)
	defer cancel()
	return r.speak(ctx, w)
}

// speak delivers the audio. When it returns, all its work has ended.
func (r *Reply) speak(ctx context.Context, w io.Writer) error {
	defer r.close()
	err := rendering.Render(ctx, r, r.encoder.Encode, func(piece speech.Piece, encoded []byte) error {
		return r.deliver(ctx, w, piece, encoded)
	})
	if err != nil {
		return err
	}
	encoded, err := r.encoder.Finish(ctx)
	if err != nil {
		return err
	}
	return r.write(ctx, w, encoded)
}

// deliver counts a segment once w has accepted all its audio.
func (r *Reply) deliver(ctx context.Context, w io.Writer, piece speech.Piece, encoded []byte) error {
	r.pcm += int64(len(piece.PCM))
	if err := r.write(ctx, w, encoded); err != nil {
		return err
	}
	if piece.SegmentEnd {
		r.delivered += spokenCharacters(piece)
		r.timings = append(r.timings, piece.Timings...)
	}
	return nil
}

// spokenCharacters returns the characters of a segment that count: none if the engine could not speak any of it.
func spokenCharacters(piece speech.Piece) int64 {
	if piece.Silent {
		return 0
	}
	return int64(piece.Characters)
}

func (r *Reply) write(ctx context.Context, w io.Writer, encoded []byte) error {
	if len(encoded) == 0 {
		return nil
	}
	_, err := w.Write(encoded)
	if !r.synthesis.Whole {
		r.watch.delivered(ctx, len(encoded), err)
	}
	return err
}

func (s Synthesis) observation() Observation {
	kind := Streamed
	if s.Whole {
		kind = Collected
	}
	return Observation{Kind: kind, Format: s.Audio.Format}
}

func (r *Reply) observe(ctx context.Context, err error) {
	o := r.synthesis.observation()
	o.Characters = r.delivered
	r.synthesiser.observe(ctx, o, r.watch, err)
}

func (r *Reply) settle(ctx context.Context) (err error) {
	r.position, err = r.synthesiser.settle(ctx, r.reservation, r.delivered)
	// The other read models are not awaited: a stopped one must not make the reply stale.
	r.models = []readmodel.Model{readmodel.Usage}
	return err
}

func (r *Reply) awaitVisible(ctx context.Context) {
	r.stale = r.synthesiser.awaitVisible(ctx, r.position, r.models) != nil
}

// ID returns the id of the synthesis in the log.
func (r *Reply) ID() string { return r.reservation.ID.String() }

// Clip returns the id of the clip that will be saved after the delivery of the audio, or "" if none was requested. For
// a reply that Whole collects it is "" until the clip has been saved.
func (r *Reply) Clip() string {
	if r.synthesis.Whole && !r.saved {
		return ""
	}
	return r.clip.ID
}

// WordTimes returns the id under which the word times can be read after the delivery of the audio, or "" if they were
// not requested.
func (r *Reply) WordTimes() string { return r.wordTimes }

// Concurrency returns the number of concurrent syntheses of the account on this instance, including this one, and the
// maximum of its plan; both are 0 if there is no limit.
func (r *Reply) Concurrency() (current, limit int) { return r.slot.Concurrency() }

// Seed returns the seed with which the audio can be reproduced.
func (r *Reply) Seed() int64 { return r.synthesis.Seed }

// Warning returns a sentence about differences between the request and the audio, or "".
func (r *Reply) Warning() string { return r.warning }

// Allowance returns the account's allowance, with this reply's characters among the reserved ones.
func (r *Reply) Allowance() ledger.Allowance { return r.reservation.Allowance }

// Charged returns the number of characters that were settled. It is called after Write.
func (r *Reply) Charged() int64 { return r.delivered }

// Characters returns the number of reserved characters.
func (r *Reply) Characters() int64 { return r.reservation.Characters }

// close stops all work in progress.
func (r *Reply) close() {
	if r.stream != nil {
		r.stream.Close()
	}
	if r.encoder != nil {
		r.encoder.Close()
	}
}
