// Package voices makes voices from recordings, changes and deletes them, and opens them to speak.
//
// A request stores the recordings, takes a place of the account's plan, and creates the voice. To-dos do the rest. They
// also complete or abandon an operation that was interrupted at any instruction: a place without a voice is freed, the
// making of a voice continues, and unreferenced blobs are swept.
package voices

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/star"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/sealed"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/cloning"
)

// Config configures Voices. All fields are required.
type Config struct {
	Journal  *journal.Journal
	Keys     keyring.Keyring
	Blobs    blobs.Store
	Decoder  audio.Decoder
	Cloner   cloning.Cloner
	Previews Previews
	// the voices that every account has; nil means the system voices
	Catalogue *speech.Catalogue
	// of recordings while they are decoded and analysed; created if missing, and used by this process alone
	Folder string
	Limits Limits
	Now    func() time.Time
	Logger *slog.Logger
}

// Previews render previews.
type Previews interface {
	// Render returns the preview of a voice, as MP3.
	Render(ctx context.Context, voice speech.Voice) ([]byte, error)
}

// Limits bounds concurrent work and storage. A zero field means its default.
type Limits struct {
	PerAccount int // voices on any plan: 10,000
	// voices prepared at a time, by default one for each processor; half as many (at least one) are trained in addition
	AtOnce   int
	Upload   int64         // bytes of a recording: 250 MiB
	Longest  time.Duration // of all recordings of a voice: 3 h
	Wait     time.Duration // for which a request waits until its voice is ready: 30 s
	Opened   int           // voices kept open to speak: 1,000
	Training time.Duration // minimum of speech of a professional voice: 5 min
	Stretch  time.Duration // of a recording that is analysed in one step for a professional voice: 2 min
}

func (l Limits) withDefaults() Limits {
	l.PerAccount = cmp.Or(l.PerAccount, 10_000)
	l.AtOnce = cmp.Or(l.AtOnce, runtime.NumCPU())
	l.Upload = cmp.Or(l.Upload, 250<<20)
	l.Longest = cmp.Or(l.Longest, 3*time.Hour)
	l.Wait = cmp.Or(l.Wait, 30*time.Second)
	l.Opened = cmp.Or(l.Opened, 1000)
	l.Training = cmp.Or(l.Training, 5*time.Minute)
	l.Stretch = cmp.Or(l.Stretch, 2*time.Minute)
	return l
}

// trained returns the number of voices that are trained at a time.
func (l Limits) trained() int { return max(1, l.AtOnce/2) }

// Voices executes the commands on voices. It must be closed.
type Voices struct {
	Config
	sealed       *sealed.Store
	spool        *spool.Spool
	opened       *lru.Cache[string, *opened]
	preparing    *workerPool
	training     *workerPool
	previewGroup singleflight.Group // of renderings that are not stored
	random       io.Reader          // source of ids
}

// New returns a Voices.
func New(config Config) (*Voices, error) {
	config.Limits = config.Limits.withDefaults()
	limits := config.Limits
	largest := max(limits.Upload, int64(limits.Longest/time.Second)*decodedRate*2)
	atOnce := int64(limits.AtOnce + limits.trained())
	files, err := spool.Open(spool.Config{Dir: config.Folder, MaxFile: largest,
		Budget: atOnce * filesEach * largest * 3 / 2})
	if err != nil {
		return nil, fmt.Errorf("opening the voices: %w", err)
	}
	opened, _ := lru.New[string, *opened](limits.Opened) // fails for a size below 1
	v := &Voices{Config: config, sealed: sealed.New(config.Blobs, config.Keys), spool: files, opened: opened,
		random: rand.Reader}
	v.preparing, v.training = newWorkerPool(limits.AtOnce), newWorkerPool(limits.trained())
	return v, nil
}

// Close stops the making of voices. Another instance, or the next start, continues it.
func (v *Voices) Close() error {
	v.preparing.close()
	v.training.close()
	return nil
}

// Making returns the number of voices that this instance is preparing or training.
func (v *Voices) Making() int { return v.preparing.busy() + v.training.busy() }

// Voice is a voice as seen by its account. A system voice has a zero State.
type Voice struct {
	ID       string
	State    voice.State
	Starred  bool
	Position eventlog.Position // of the last event from which it follows
}

type (
	voiceStream = journal.Stream[voice.State, voice.Event]
	command     = journal.Decider[voice.State, voice.Event]

	rosterStream  = journal.Stream[roster.State, roster.Event]
	rosterCommand = journal.Decider[roster.State, roster.Event]

	starStream  = journal.Stream[star.State, star.Event]
	starCommand = journal.Decider[star.State, star.Event]
)

func streamOf(id string) voiceStream {
	return voiceStream{Name: voice.Stream(id), Evolve: voice.Evolve, Snapshot: voice.State.Snapshot}
}

func rosterOf(account string) rosterStream {
	return rosterStream{Name: roster.Stream(account), Evolve: roster.Evolve, Snapshot: roster.State.Snapshot}
}

func starsOf(account string) starStream {
	return starStream{Name: star.Stream(account), Evolve: star.Evolve, Snapshot: star.State.Snapshot}
}

// load reads a voice.
func (v *Voices) load(ctx context.Context, id string) (voice.State, eventlog.Position, error) {
	state, version, err := journal.Load(ctx, v.Journal, streamOf(id))
	return state, version.Position, err
}

// do executes a command on a voice.
func (v *Voices) do(
	ctx context.Context, id string, c command, origin journal.Origin,
) (voice.State, eventlog.Position, error) {
	return journal.Execute(ctx, v.Journal, streamOf(id), c, origin.Metadata(uuid.New(), v.now()))
}

// free frees the places of an account's voices, and withdraws the account's stars of them.
func (v *Voices) free(
	ctx context.Context, account string, ids []string, abandoned bool, origin journal.Origin,
) (eventlog.Position, error) {
	at := v.now()
	unstar := star.Withdraw{Voices: ids, At: at}
	_, last, err := journal.Execute(ctx, v.Journal, starsOf(account), starCommand(unstar), origin.Metadata(uuid.New(), at))
	if err != nil {
		return eventlog.Position{}, err
	}
	free := roster.Free{Voices: ids, Abandoned: abandoned, At: at}
	_, position, err := journal.Execute(ctx, v.Journal, rosterOf(account), rosterCommand(free),
		origin.Metadata(uuid.New(), at))
	return journal.Later(last, position), err
}

// owner returns the owner of a voice's blobs.
func owner(id string) blobs.Owner { return blobs.Owner(voice.Stream(id)) }

func (v *Voices) now() time.Time { return v.Now().UTC() }
