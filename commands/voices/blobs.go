package voices

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

// put stores a blob of a voice, sealed.
func (v *Voices) put(ctx context.Context, account, id string, content io.Reader, size int64) (blobs.Blob, error) {
	envelope, err := v.sealed.Envelope(ctx, account, blobs.NewAddress(owner(id)))
	if err != nil {
		return blobs.Blob{}, explainKeys(err)
	}
	return v.sealed.Put(ctx, envelope, content, size)
}

// read returns a blob of a voice of limited size.
func (v *Voices) read(ctx context.Context, account, address string, most int64) ([]byte, error) {
	content, err := v.sealed.Open(ctx, account, blobs.Address(address), 0, most+1)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	var whole bytes.Buffer
	n, err := io.Copy(&whole, content)
	switch {
	case err != nil:
		return nil, err
	case n > most:
		return nil, errors.New("a blob is larger than it can be")
	}
	return whole.Bytes(), nil
}

// remove deletes blobs to which no event refers any more. If the store does not delete them in time, Sweep does.
func (v *Voices) remove(ctx context.Context, addresses ...string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	for _, address := range addresses {
		if err := v.Blobs.Delete(ctx, blobs.Address(address)); err != nil {
			v.Logger.WarnContext(ctx, "a voice's former blob is left for the sweep", "error", err)
		}
	}
}

// Needed returns the account of the voice to which a blob belongs, or "" if no event refers to the blob, or the voice
// was deleted.
func Needed(ctx context.Context, j *journal.Journal, address blobs.Address) (account string, err error) {
	state, _, err := journal.Load(ctx, j, streamOf(string(address.Owner())[len(voice.StreamPrefix):]))
	if err != nil || !state.Needs(string(address)) {
		return "", err
	}
	return state.Account, nil
}

// sweepAge is the age from which a blob is considered abandoned: until then its event may still be appended.
const sweepAge = time.Hour

// Sweep removes the blobs left by crashes, to which no event of their voice refers. It returns the number of removed
// blobs. A voice that was not created within an hour of its blobs never is.
func (v *Voices) Sweep(ctx context.Context) (removed int, err error) {
	var of voice.State
	for blob, err := range v.Blobs.List(ctx, voice.StreamPrefix) {
		if err != nil {
			return removed, fmt.Errorf("sweeping voices: %w", err)
		}
		if v.Now().Sub(blob.Stored) < sweepAge {
			continue
		}
		// stores list a voice's blobs together
		if id := string(blob.Address.Owner())[len(voice.StreamPrefix):]; of.Voice != id {
			if of, err = v.created(ctx, id); err != nil {
				return removed, fmt.Errorf("sweeping voices: %w", err)
			}
		}
		if of.Needs(string(blob.Address)) {
			continue
		}
		if err := v.Blobs.Delete(ctx, blob.Address); err != nil {
			return removed, fmt.Errorf("sweeping voices: %w", err)
		}
		removed++
	}
	return removed, nil
}

// created returns a voice that was created, or makes sure that it never will be.
func (v *Voices) created(ctx context.Context, id string) (voice.State, error) {
	state, _, err := v.load(ctx, id)
	if err == nil && state.Phase == "" && !state.Abandoned {
		state, _, err = v.do(ctx, id, voice.Abandon{Voice: id, At: v.now()}, journal.System())
	}
	return state, err
}
