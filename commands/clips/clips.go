// Package clips saves results of syntheses as clips, and deletes them.
package clips

import (
	"crypto/rand"
	"io"
	"log/slog"
	"time"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/sealed"
)

// Config configures Clips. All fields are required.
type Config struct {
	Journal     *journal.Journal
	Keys        keyring.Keyring
	Blobs       blobs.Store
	Spool       *spool.Spool  // of unsaved audio
	SaveTimeout time.Duration // of saving a clip at the end of its reply
	Now         func() time.Time
	Logger      *slog.Logger
}

// Clips executes the commands on clips.
type Clips struct {
	journal *journal.Journal
	keys    keyring.Keyring
	blobs   blobs.Store
	sealed  *sealed.Store
	spool   *spool.Spool
	timeout time.Duration
	saving  chan struct{} // has an element for each running save
	now     func() time.Time
	random  io.Reader // source of ids
	log     *slog.Logger
}

// New returns a Clips.
func New(config Config) *Clips {
	return &Clips{
		journal: config.Journal, keys: config.Keys, blobs: config.Blobs, sealed: sealed.New(config.Blobs, config.Keys),
		spool:   config.Spool,
		timeout: config.SaveTimeout, saving: make(chan struct{}, savedAtOnce), now: config.Now, random: rand.Reader,
		log: config.Logger,
	}
}

func stream(id string) journal.Stream[clip.State, clip.Event] {
	return journal.Stream[clip.State, clip.Event]{Name: clip.Stream(id), Evolve: clip.Evolve}
}

// owner returns the owner of a clip's blobs.
func owner(id string) blobs.Owner { return blobs.Owner(clip.Stream(id)) }
