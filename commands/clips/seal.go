package clips

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

// Unsealed is a clip of an earlier release, whose audio is not sealed.
type Unsealed struct {
	Clip    string
	Account string
	Blob    blobs.Address
}

// UnsealedClips is what sealing knows of the read model.
type UnsealedClips interface {
	// After returns clips in the order of their ids, from the one after a given id on; none at the end.
	After(ctx context.Context, id string) ([]Unsealed, error)

	// Await waits until it shows what was appended at a position.
	Await(ctx context.Context, position eventlog.Position) error
}

// Progress is how far SealAudio is.
type Progress struct {
	Sealed int  // clips
	Failed int  // clips that could not be sealed, each for a reason of its own
	Ended  bool // all others are sealed
}

// SealAudio seals the audio of clips of earlier releases, and calls progress after each page, and at the end. A clip that
// fails is logged and left. A former blob is deleted when the read model shows the
// sealed one; what a crash leaves is removed by Sweep. Several instances may do this at once. Errors: those after which it
// is to be tried again later.
func (c *Clips) SealAudio(ctx context.Context, clips UnsealedClips, progress func(Progress)) error {
	var so Progress
	for after := ""; !so.Ended; progress(so) {
		page, err := clips.After(ctx, after)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			so.Ended = true
			continue
		}
		after = page[len(page)-1].Clip
		if err := c.sealPage(ctx, clips, page, &so); err != nil {
			return fmt.Errorf("sealing the audio of clips: %w", err)
		}
	}
	return nil
}

// sealPage takes the clips in no order, so that instances which do the same rarely meet.
func (c *Clips) sealPage(ctx context.Context, clips UnsealedClips, page []Unsealed, so *Progress) error {
	rand.Shuffle(len(page), func(i, j int) { page[i], page[j] = page[j], page[i] })
	var former []blobs.Address
	var last eventlog.Position
	for _, one := range page {
		position, done, err := c.sealAudio(ctx, one)
		switch {
		case err != nil && (ctx.Err() != nil || domain.CodeOf(err) == domain.Unavailable):
			return err
		case err != nil:
			so.Failed++
			c.log.ErrorContext(ctx, "the audio of a clip was not sealed", "clip", one.Clip, "error", err)
		case done:
			so.Sealed++
			last, former = position, append(former, one.Blob)
		}
	}
	return c.removeFormer(ctx, clips, last, former)
}

// removeFormer deletes blobs once no reader is led to them any more.
func (c *Clips) removeFormer(ctx context.Context, clips UnsealedClips, last eventlog.Position, former []blobs.Address) error {
	if len(former) == 0 {
		return nil
	}
	if err := clips.Await(ctx, last); err != nil {
		return err
	}
	for _, address := range former {
		c.remove(ctx, address)
	}
	return nil
}

// sealAudio puts a sealed copy of a clip's audio and records it. It returns false if the clip needs none any more.
func (c *Clips) sealAudio(ctx context.Context, u Unsealed) (position eventlog.Position, done bool, err error) {
	state, _, err := journal.Load(ctx, c.journal, stream(u.Clip))
	if err != nil || !state.Exists() || state.SealedAudio || state.Blob != string(u.Blob) {
		return eventlog.Position{}, false, err
	}
	copied, err := c.copySealed(ctx, u)
	if errors.Is(err, keyring.ErrErased) { // its account is being closed, and the clip deleted
		return eventlog.Position{}, false, nil
	}
	if err != nil {
		return eventlog.Position{}, false, err
	}
	at := c.now().UTC()
	seal := clip.SealAudio{Clip: u.Clip, Account: u.Account, From: string(u.Blob), To: string(copied.Address), Bytes: copied.Size, At: at}
	_, position, err = journal.Execute(ctx, c.journal, stream(u.Clip), seal, journal.System().Metadata(uuid.New(), at))
	switch domain.CodeOf(err) {
	case domain.NotFound, domain.Conflict: // it was deleted meanwhile, or another instance was first
		c.remove(ctx, copied.Address)
		return eventlog.Position{}, false, nil
	}
	return position, err == nil, err
}

func (c *Clips) copySealed(ctx context.Context, u Unsealed) (blobs.Blob, error) {
	envelope, err := c.sealed.Envelope(ctx, u.Account, blobs.NewAddress(owner(u.Clip)))
	if err != nil {
		return blobs.Blob{}, err
	}
	content, err := c.blobs.Open(ctx, u.Blob, 0, math.MaxInt64)
	if err != nil {
		return blobs.Blob{}, err
	}
	defer content.Close()
	return c.sealed.Put(ctx, envelope, content)
}
