package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/skips"
	"github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/backup"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/folder"
	"github.com/recital-tts/recital/internal/providers/blobs/s3"
)

// s3Keys are the keys to blobs in S3, as recitald takes them.
type s3Keys struct {
	AccessKey     string `env:"RECITAL_S3_ACCESS_KEY" placeholder:"ID" help:"${s3_keys_access_key}"`
	AccessKeyFile string `env:"RECITAL_S3_ACCESS_KEY_FILE" placeholder:"PATH" help:"File of that id, instead."`
	SecretKey     string `env:"RECITAL_S3_SECRET_KEY" placeholder:"KEY" help:"The key to blobs in S3."`
	SecretKeyFile string `env:"RECITAL_S3_SECRET_KEY_FILE" placeholder:"PATH" help:"File of that key, instead."`
}

// read returns the keys.
func (k s3Keys) read() (access, secret string, err error) {
	access, err = valueOr(k.AccessKey, k.AccessKeyFile)
	if err == nil {
		secret, err = valueOr(k.SecretKey, k.SecretKeyFile)
	}
	if err == nil && (access == "") != (secret == "") {
		err = fail(exitUsage, "S3 needs both keys, --s3-access-key and --s3-secret-key, "+
			"or neither, and finds them where AWS's tools do")
	}
	return access, secret, err
}

// valueOr returns a value, or the text of its file.
func valueOr(value, file string) (string, error) {
	if value != "" || file == "" {
		return value, nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading a key to S3: %w", err)
	}
	return strings.TrimSpace(string(content)), nil
}

// openStore opens the store of the blobs, before anything is written.
func (r *restoring) openStore(ctx context.Context) (err error) {
	to, log, silent := r.settings.Blobs, r.manifest.LogID.String(), slog.New(slog.DiscardHandler)
	if !strings.HasPrefix(to, s3.Scheme) {
		r.store, err = folder.Open(folder.Config{
			Dir: filepath.Join(cmp.Or(to, r.folder.Path("blobs")), log), Instance: "recitalctl restore", Logger: silent,
		})
		return err
	}
	config := s3.Config{Folder: log, Logger: silent}
	if config.Location, err = s3.ParseURL(to); err != nil {
		return fail(exitUsage, "%w", err)
	}
	if config.AccessKey, config.SecretKey, err = r.settings.S3.read(); err != nil {
		return err
	}
	store, err := s3.Open(ctx, config)
	if err != nil {
		return err
	}
	r.store = store
	r.closing = append(r.closing, store.Close)
	return nil
}

// blobs copies the blobs that the restored log still needs. Those of deleted clips and voices, and of closed accounts,
// are not brought back.
func (r *restoring) blobs(ctx context.Context) error {
	registry, err := eventlog.NewRegistry(slices.Concat(accounts.Events(), clips.Events(), voices.Events(),
		skips.Events())...)
	if err != nil {
		return err
	}
	needs := &needs{journal: &journal.Journal{Log: r.target, Registry: registry}}
	if err := skips.Load(ctx, needs.journal); err != nil {
		return err
	}
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
		if err := r.copyBlob(ctx, blob); err != nil {
			return err
		}
		r.done.blobs++
		r.to.add(blob.Size)
	}
	return nil
}

func (r *restoring) copyBlob(ctx context.Context, blob backup.Blob) error {
	if there, err := r.store.Stat(ctx, blob.Address); err == nil && there.Size == blob.Size {
		return nil
	}
	from, err := r.from.OpenBlob(blob)
	if err != nil {
		return fmt.Errorf("copying a blob: %w", err)
	}
	defer from.Close()
	_, err = r.store.Put(ctx, blob.Address, from, blob.Size)
	return err
}

// needs finds out which blobs the log still needs.
type needs struct{ journal *journal.Journal }

// blob reports whether a blob is needed, as it may be where an event of its owner cannot be decoded.
func (n *needs) blob(ctx context.Context, address blobs.Address) (bool, error) {
	account, err := n.owner(ctx, address)
	if eventlog.IsUndecodable(err) {
		return true, nil
	}
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
