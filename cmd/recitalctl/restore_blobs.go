package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/backup"
	"github.com/recital-tts/recital/internal/blobs"
	"github.com/recital-tts/recital/internal/blobs/folder"
	"github.com/recital-tts/recital/internal/eventlog"
)

// blobs copies the blobs that the restored log still needs. Those of deleted clips and voices, and of closed accounts, are not
// brought back.
func (r *restoring) blobs(ctx context.Context) error {
	store, err := folder.Open(folder.Config{
		Dir:      filepath.Join(cmp.Or(r.settings.Blobs, r.folder.Path("blobs")), r.done.identity.LogID.String()),
		Instance: "recitalctl restore", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	registry, err := eventlog.NewRegistry(slices.Concat(accounts.Events(), clips.Events(), voices.Events())...)
	if err != nil {
		return err
	}
	needs := &needs{journal: &journal.Journal{Log: r.target, Registry: registry}}
	r.to.begin("copying the blobs", r.manifest.Stored.Bytes)
	for blob, err := range r.from.Blobs(r.manifest) {
		if err != nil {
			return err
		}
		needed, err := needs.blob(ctx, blob.Address)
		if err != nil {
			return fmt.Errorf("looking who needs a blob: %w", err)
		}
		if !needed {
			r.done.left++
			continue
		}
		if err := r.copyBlob(ctx, store, blob); err != nil {
			return err
		}
		r.done.blobs++
		r.to.add(blob.Size)
	}
	return nil
}

func (r *restoring) copyBlob(ctx context.Context, store blobs.Store, blob backup.Blob) error {
	if there, err := store.Stat(ctx, blob.Address); err == nil && there.Size == blob.Size {
		return nil
	}
	from, err := r.from.OpenBlob(blob)
	if err != nil {
		return fmt.Errorf("copying a blob: %w", err)
	}
	defer from.Close()
	_, err = store.Put(ctx, blob.Address, from)
	return err
}

// needs finds out what the log still needs.
type needs struct{ journal *journal.Journal }

func (n *needs) blob(ctx context.Context, address blobs.Address) (bool, error) {
	account, err := n.owner(ctx, address)
	if err != nil || account == "" {
		return false, err
	}
	closed, err := accounts.Closed(ctx, n.journal, account)
	return !closed, err
}

// owner returns the account of the clip or the voice that a blob belongs to, "" if there is none.
func (n *needs) owner(ctx context.Context, address blobs.Address) (string, error) {
	switch owner := string(address.Owner()); {
	case strings.HasPrefix(owner, clip.StreamPrefix):
		return clips.Needed(ctx, n.journal, address)
	case strings.HasPrefix(owner, voice.StreamPrefix):
		return voices.Needed(ctx, n.journal, address)
	}
	return "", nil
}
