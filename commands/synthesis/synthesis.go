// Package synthesis turns text into audio and accounts for it. It is a command with a stream as its result: a Reply is
// the audio of a complete text, and a Session the audio of a text that arrives in pieces.
package synthesis

import (
	"context"
	"fmt"
	"log/slog"
	"time"
	"unicode/utf8"

	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/rates"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/wordtimes"
)

// SettleTimeout bounds the time for which the end of a reply waits for its settlement to be in the log. Reservations
// last longer than replies by that time.
const SettleTimeout = 10 * time.Second

// visibleTimeout bounds the time for which the end of a reply waits for its settlement to be in the read models.
const visibleTimeout = 2 * time.Second

// quietEncoder is the default of Synthesiser.QuietEncoder.
const quietEncoder = 2 * time.Second

// ReadModels waits until the live read models have reached a position of the log.
type ReadModels interface {
	Wait(ctx context.Context, position eventlog.Position, models ...readmodel.Model) error
}

// Voices looks up the voices of accounts.
type Voices interface {
	// Speaking returns the current version of a voice for an account. Errors: domain.NotFound for a voice that the account
	// does not, or no longer, have; domain.Conflict for one that is not ready yet; domain.Rejected for one that never will
	// be.
	Speaking(ctx context.Context, account, id string) (speech.Voice, error)
}

// Pronunciations looks up the pronunciations of accounts.
type Pronunciations interface {
	// Lexicon returns the current list of an account; nil if it is empty.
	Lexicon(ctx context.Context, account string) (*speech.Lexicon, error)
}

// Synthesiser turns text into audio and accounts for it.
type Synthesiser struct {
	Ledger     *ledger.Ledger
	Voices     Voices
	Speaker    *speech.Speaker
	Encoders   audio.Encoders
	ReadModels ReadModels
	Clips      *clips.Clips     // nil saves no clips
	Slots      *Slots           // nil for no limit
	Rates      *rates.Limiter   // of the units of sessions; nil for no limit
	WordTimes  *wordtimes.Store // nil stores no word times
	Spool      *spool.Spool     // for collected replies
	Pronounced Pronunciations   // nil has none
	Longest    time.Duration    // of a reply, and of a unit of a session; 0 means nine tenths of a reservation's lifetime
	Logger     *slog.Logger

	// QuietEncoder is the time for which a Session keeps its encoder without text to speak; 0 means 2 s.
	QuietEncoder time.Duration
	// Observe is called at the end of a synthesis, or of a unit of a session, and must not block. It may be nil.
	Observe func(Observation)
}

// Synthesis is a text to be spoken.
type Synthesis struct {
	Account    string
	Plan       plan.Type // of the account, for Slots
	Origin     journal.Origin
	Text       string
	Voice      string // its id
	Language   string // an engine language, or speech.AutoLanguage
	Speed      float64
	Model      string // "" means speech.ModelAurora
	Prosody    speech.Prosody
	Seed       int64
	Length     float64 // seconds; 0 means the natural length
	Audio      audio.Spec
	Save       SaveOptions
	StoreTimes bool // the word times of the audio can be read for a while
	Whole      bool // Reply.Whole collects the audio, instead of Reply.Write

	markup *speech.Markup // of the text; nil if it has none
	billed int64          // characters of the text's segments; 0 before they are known
}

// lexicon returns the pronunciations of an account.
func (s *Synthesiser) lexicon(ctx context.Context, account string) (*speech.Lexicon, error) {
	if s.Pronounced == nil {
		return nil, nil
	}
	return s.Pronounced.Lexicon(ctx, account)
}

// takeTurn waits until the account may speak another unit of a session: for its rate, because each unit appends to the
// log, and for a slot.
func (s *Synthesiser) takeTurn(ctx context.Context, account string, on plan.Type) (*Slot, error) {
	if err := s.Rates.WaitAccount(ctx, account, string(on)); err != nil {
		return nil, err
	}
	return s.Slots.Take(ctx, account, on)
}

// longest returns the maximum time for delivering a reply, so that it is settled before its reservation expires.
func (s *Synthesiser) longest() time.Duration {
	if s.Longest > 0 {
		return s.Longest
	}
	return s.Ledger.LongestReservation() * 9 / 10
}

// settle settles a reservation, even if the client has disconnected, to charge the received part.
func (s *Synthesiser) settle(ctx context.Context, r ledger.Reservation, delivered int64) (eventlog.Position, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SettleTimeout)
	defer cancel()
	position, err := s.Ledger.Settle(ctx, r, delivered)
	if err != nil {
		return position, fmt.Errorf("settling a synthesis: %w", err)
	}
	return position, nil
}

// awaitVisible waits until read models have reached a position, but not for long.
func (s *Synthesiser) awaitVisible(ctx context.Context, position eventlog.Position, models []readmodel.Model) error {
	ctx, cancel := context.WithTimeout(ctx, visibleTimeout)
	defer cancel()
	return s.ReadModels.Wait(ctx, position, models...)
}

// request returns the request to the speaker, without the text.
func (s Synthesis) request(voice speech.Voice) speech.Request {
	return speech.Request{
		Voice: voice, Language: s.Language, Speed: s.Speed, Model: s.Model, Prosody: s.Prosody, Seed: s.Seed,
		Length: s.Length, Account: s.Account,
	}
}

// parse parses the text if it is a document of SSML.
func (s *Synthesis) parse() (err error) {
	s.markup, err = speech.ParseMarkup(s.Text, s.Language)
	return err
}

// plainText returns the text without markup.
func (s Synthesis) plainText() string {
	if s.markup != nil {
		return s.markup.Text
	}
	return s.Text
}

// characters returns the number of billed characters, which is an estimate before the text has segments.
func (s Synthesis) characters() int64 {
	if s.billed > 0 {
		return s.billed
	}
	if s.markup != nil {
		return int64(s.markup.Characters())
	}
	return int64(utf8.RuneCountInString(s.Text))
}
