// Package clips saves results of syntheses as clips, and deletes them.
package clips

import (
	"crypto/rand"
	"io"
	"log/slog"
	"time"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/blobs"
	"github.com/recital-tts/recital/internal/keyring"
)

// Clips executes the commands on clips.
type Clips struct {
	journal *journal.Journal
	keys    keyring.Keyring
	blobs   blobs.Store
	now     func() time.Time
	random  io.Reader // source of ids
	log     *slog.Logger
}

// New returns a Clips whose clock is now.
func New(j *journal.Journal, keys keyring.Keyring, store blobs.Store, now func() time.Time, log *slog.Logger) *Clips {
	return &Clips{journal: j, keys: keys, blobs: store, now: now, random: rand.Reader, log: log}
}

func stream(id string) journal.Stream[clip.State, clip.Event] {
	return journal.Stream[clip.State, clip.Event]{Name: clip.Stream(id), Evolve: clip.Evolve}
}
