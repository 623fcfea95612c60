// Package synthesis turns text into audio and accounts for it. It is a command whose result is a stream: a Reply is
// the audio of a text that is known as a whole, a Session that of a text that arrives in pieces.
package synthesis

import (
	"context"
	"log/slog"
	"time"
	"unicode/utf8"

	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/audio"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/readmodel"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/wordtimes"
)

const (
	// settleTimeout bounds how long the end of a reply waits for its settlement to be in the log, visibleTimeout for
	// it to be in the read models.
	settleTimeout  = 10 * time.Second
	visibleTimeout = 2 * time.Second
)

// ReadModels waits until the live read models have reached a position of the log.
type ReadModels interface {
	Wait(ctx context.Context, position eventlog.Position, models ...readmodel.Model) error
}

// Synthesiser turns text into audio and accounts for it.
type Synthesiser struct {
	Ledger     *ledger.Ledger
	Speaker    *speech.Speaker
	Encoders   audio.Encoders
	ReadModels ReadModels
	Clips      *clips.Clips     // nil saves no clips
	Slots      *Slots           // nil limits nothing
	WordTimes  *wordtimes.Shelf // nil stores no word times
	Logger     *slog.Logger
}

// Synthesis is a text to be spoken.
type Synthesis struct {
	Account   string
	Plan      plan.Type // of the account, for Slots
	Origin    journal.Origin
	Text      string
	Voice     speech.Voice
	Language  string // an engine language, or speech.AutoLanguage
	Speed     float64
	Model     string // "" means speech.ModelAurora
	Prosody   speech.Prosody
	Seed      int64
	Length    float64 // seconds; 0 means the natural length
	Audio     audio.Spec
	Keep      *Keepsake // saves the result as a clip; nil saves nothing
	KeepTimes bool      // the word times of what Write delivers can be read for a while
}

// request returns the request to the speaker, without the text.
func (s Synthesis) request() speech.Request {
	return speech.Request{
		Voice: s.Voice, Language: s.Language, Speed: s.Speed, Model: s.Model, Prosody: s.Prosody, Seed: s.Seed, Length: s.Length,
	}
}

func (s Synthesis) characters() int64 { return int64(utf8.RuneCountInString(s.Text)) }
