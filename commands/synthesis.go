package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/audio"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/speech"
)

const (
	// settleTimeout bounds how long the end of a reply waits for its settlement to be in the log, visibleTimeout for it
	// to be in the read models.
	settleTimeout  = 10 * time.Second
	visibleTimeout = 2 * time.Second
)

// usageModel is the read model that shows a settlement. The others are not waited for: one that stopped is no reason
// to call the reply stale.
const usageModel = "usage"

var errTaken = errors.New("the reply was carried out or given up before")

// ReadModels waits until the live read models have reached a position of the log.
type ReadModels interface {
	Wait(ctx context.Context, position eventlog.Position, names ...string) error
}

// Synthesiser turns text into audio and accounts for it.
type Synthesiser struct {
	Ledger     *Ledger
	Speaker    *speech.Speaker
	Encoders   audio.Encoders
	ReadModels ReadModels
	Clips      *Clips      // nil keeps nothing
	Slots      *Slots      // nil limits nothing
	Timestamps *Timestamps // nil keeps nothing
}

// Synthesis is a text to be spoken.
type Synthesis struct {
	Account   string
	Plan      plan.Type // of the account, for Slots
	Actor     eventlog.Actor
	Text      string
	Voice     speech.Voice
	Language  string // an engine language, or speech.AutoLanguage
	Speed     float64
	Model     string // "" is speech.ModelAurora
	Prosody   speech.Prosody
	Seed      int64
	Length    float64 // seconds; 0: as long as it takes
	Audio     audio.Spec
	Keep      *Keepsake // the result becomes a clip; nil keeps nothing
	KeepTimes bool      // the word times of what Write hands over can be read for a while
}

// request is what the speaker is asked for, the text apart.
func (s Synthesis) request() speech.Request {
	return speech.Request{
		Voice: s.Voice, Language: s.Language, Speed: s.Speed, Model: s.Model, Prosody: s.Prosody, Seed: s.Seed, Length: s.Length,
	}
}

func (s Synthesis) characters() int64 { return int64(utf8.RuneCountInString(s.Text)) }

// Reply is the audio of a synthesis on its way. Write or Whole carries it out, once; where neither is called before the
// context of Begin ends, the reservation and the slot are given back.
type Reply struct {
	synthesiser *Synthesiser
	order       Synthesis
	clip        string // id of the clip to be saved, "" for none
	timestamps  string // id of the word times to be kept, "" for none
	slot        *Slot
	reservation Reservation
	stream      *speech.Stream
	encoder     audio.Encoder
	warning     string      // of the stream
	ahead       *ahead      // read before it is written
	taken       atomic.Bool // by Write, Whole or abandon

	handed   int64             // characters of the segments that were handed over
	pcm      int64             // bytes of the samples that were encoded
	position eventlog.Position // of the settlement, or of the clip after it
	models   []string          // that show it
	stale    bool
	timings  []speech.Timing
}

// Begin reserves the characters of the text while the synthesis of its first segment already runs, and returns when
// the reservation is in the log. Errors: *BusyError when too many syntheses of the account run, before anything is
// reserved; domain.PaymentRequired when the characters do not suffice.
func (s *Synthesiser) Begin(ctx context.Context, order Synthesis) (*Reply, error) {
	slot, err := s.Slots.Try(order.Account, order.Plan)
	if err != nil {
		return nil, fmt.Errorf("beginning a synthesis: %w", err)
	}
	reply := &Reply{synthesiser: s, order: order, slot: slot}
	begun := false
	defer func() {
		if !begun { // also when something panicked
			reply.abandon()
		}
	}()
	if err := reply.begin(ctx); err != nil {
		return nil, fmt.Errorf("beginning a synthesis: %w", err)
	}
	begun = true
	context.AfterFunc(ctx, reply.abandon)
	return reply, nil
}

func (r *Reply) begin(ctx context.Context) error {
	if err := errors.Join(r.nameClip(), r.nameTimestamps()); err != nil {
		return err
	}
	request := r.order.request()
	request.Text = r.order.Text
	r.stream = r.synthesiser.Speaker.Speak(ctx, request)

	var begin errgroup.Group
	begin.Go(func() (err error) {
		r.reservation, err = r.synthesiser.Ledger.Reserve(ctx, r.order.Account, r.order.characters(), r.order.Actor)
		return err
	})
	begin.Go(func() (err error) {
		r.encoder, err = r.synthesiser.Encoders.Open(ctx, r.order.Audio, r.stream.SampleRate())
		return err
	})
	begin.Go(func() (err error) {
		r.warning, err = r.stream.Warning(ctx)
		return err
	})
	return begin.Wait()
}

// abandon gives back what Begin has taken, unless somebody carries the reply out: it failed, or the client went before
// the first byte.
func (r *Reply) abandon() {
	if !r.taken.CompareAndSwap(false, true) {
		return
	}
	defer r.slot.Release()
	r.synthesiser.Ledger.GiveBack(r.reservation)
	r.close()
}

// take makes the caller the one who carries the reply out.
func (r *Reply) take(ctx context.Context) error {
	if r.taken.CompareAndSwap(false, true) {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", errTaken, ctx.Err())
	}
	return errTaken
}

// Write hands the audio to w as it comes, settles what was handed over, also after an error, and returns when the
// settlement is visible in the account, at most 2 s after it was made. A segment counts when all the audio that
// came with it has been taken by w.
func (r *Reply) Write(ctx context.Context, w io.Writer) error {
	if err := r.take(ctx); err != nil {
		return err
	}
	defer r.slot.Release()
	kept := r.recordClip(ctx)
	defer kept.discard()
	speaking := r.speak(ctx, kept.beside(w))
	awaitTimestamps := r.keepTimestamps(ctx)
	defer awaitTimestamps()
	if err := r.settle(ctx); err != nil {
		return errors.Join(speaking, err)
	}
	if speaking != nil {
		return fmt.Errorf("streaming a synthesis: %w", speaking)
	}
	r.saveClip(ctx, kept)
	r.awaitVisible(ctx)
	return nil
}

// speak leaves nothing running: what comes after it only waits.
func (r *Reply) speak(ctx context.Context, w io.Writer) error {
	defer r.close()
	for {
		piece, err := r.next(ctx)
		if errors.Is(err, io.EOF) {
			return r.finish(ctx, w)
		}
		if err != nil {
			return err
		}
		if err := r.hand(ctx, w, piece.PCM); err != nil {
			return err
		}
		if piece.SegmentEnd {
			r.handed += int64(piece.Characters)
			r.timings = append(r.timings, piece.Timings...)
		}
	}
}

func (r *Reply) hand(ctx context.Context, w io.Writer, pcm []byte) error {
	if len(pcm) == 0 {
		return nil
	}
	encoded, err := r.encoder.Encode(ctx, pcm)
	if err != nil {
		return err
	}
	r.pcm += int64(len(pcm))
	return write(w, encoded)
}

func (r *Reply) finish(ctx context.Context, w io.Writer) error {
	encoded, err := r.encoder.Finish(ctx)
	if err != nil {
		return err
	}
	return write(w, encoded)
}

func write(w io.Writer, encoded []byte) error {
	if len(encoded) == 0 {
		return nil
	}
	_, err := w.Write(encoded)
	return err
}

// settle goes on when the client has gone: what it took is to be paid.
func (r *Reply) settle(ctx context.Context) error {
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	position, err := r.synthesiser.Ledger.Settle(settle, r.reservation, r.handed)
	if err != nil {
		return fmt.Errorf("settling a synthesis: %w", err)
	}
	r.position, r.models = position, []string{usageModel}
	return nil
}

func (r *Reply) awaitVisible(ctx context.Context) {
	wait, cancel := context.WithTimeout(ctx, visibleTimeout)
	defer cancel()
	r.stale = r.synthesiser.ReadModels.Wait(wait, r.position, r.models...) != nil
}

// Recording is a synthesis that has ended, as a whole.
type Recording struct {
	Audio    *Sound
	Timings  []speech.Timing
	Position eventlog.Position // of the settlement
	Stale    bool              // the read models had not reached the position in time
}

// Whole collects the audio, settles and returns it. Where the caller has gone before it was whole, nothing is settled
// for it.
func (r *Reply) Whole(ctx context.Context) (Recording, error) {
	if err := r.take(ctx); err != nil {
		return Recording{}, err
	}
	defer r.slot.Release()
	var whole Sound
	if err := r.speak(ctx, &whole); err != nil {
		r.handed = 0
		return Recording{}, errors.Join(fmt.Errorf("recording a synthesis: %w", err), r.settle(ctx))
	}
	if err := r.settle(ctx); err != nil {
		return Recording{}, err
	}
	r.saveWhole(ctx, &whole)
	r.awaitVisible(ctx)
	whole.finish(r.order.Audio)
	return Recording{Audio: &whole, Timings: r.timings, Position: r.position, Stale: r.stale}, nil
}

// ID names the synthesis in the log.
func (r *Reply) ID() string { return r.reservation.ID.String() }

// Clip is the id of the clip that will be saved when the audio was handed over, "" when none was asked for.
func (r *Reply) Clip() string { return r.clip }

// Timestamps is the id under which the word times can be read when the audio was handed over, "" when that was not asked for.
func (r *Reply) Timestamps() string { return r.timestamps }

// Concurrency is how many syntheses of the account run here, this one included, and how many its plan permits; 0 and 0 where
// it permits any number.
func (r *Reply) Concurrency() (current, limit int) { return r.slot.Concurrency() }

// Seed is the one that gives the same audio again.
func (r *Reply) Seed() int64 { return r.order.Seed }

// Warning says in a sentence what the request asks for and the audio cannot be, "" when it is all that was asked for.
func (r *Reply) Warning() string { return r.warning }

// Allowance is what the account could use and had used, this reply's characters among the reserved.
func (r *Reply) Allowance() ledger.Allowance { return r.reservation.Allowance }

// Characters is how many were reserved.
func (r *Reply) Characters() int64 { return r.reservation.Characters }

// close ends what still runs.
func (r *Reply) close() {
	if r.stream != nil {
		r.stream.Close()
	}
	if r.encoder != nil {
		r.encoder.Close()
	}
}

// FindVoice looks a voice up by the id that a client sent, or refuses with domain.NotFound.
func FindVoice(id string) (speech.Voice, error) {
	voice, ok := speech.LookupVoice(id)
	if !ok {
		return speech.Voice{}, domain.Refuse(domain.NotFound, "There is no such voice")
	}
	return voice, nil
}
