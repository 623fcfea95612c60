package folder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/recital-tts/recital/internal/providers/blobs"
)

// entriesAtOnce bounds the memory for listing a folder.
const entriesAtOnce = 256

var errStop = errors.New("no more entries are wanted")

// List implements blobs.Store. It skips files that are not blobs of this store.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[blobs.Blob, error] {
	return func(yield func(blobs.Blob, error) bool) {
		err := s.list(ctx, prefix, yield)
		switch {
		case err == nil, errors.Is(err, errStop):
		case ctx.Err() != nil:
			yield(blobs.Blob{}, fmt.Errorf("listing blobs: %w", ctx.Err()))
		default:
			yield(blobs.Blob{}, s.unavailable("listing blobs", err))
		}
	}
}

// list reads only folders that may contain matches. The prefix itself never becomes a path, unless it is checked.
func (s *Store) list(ctx context.Context, prefix string, yield func(blobs.Blob, error) bool) error {
	if owner, _, whole := strings.Cut(prefix, "."); whole {
		if blobs.Owner(owner).Check() != nil {
			return nil // there is no such owner
		}
		return s.listShard(ctx, s.shard(blobs.Owner(owner)), prefix, yield)
	}
	kind, _, whole := strings.Cut(prefix, "-")
	return eachFolder(ctx, filepath.Join(s.dir, keptFolder), func(path string) error {
		if name := filepath.Base(path); !strings.HasPrefix(name, kind) || whole && name != kind {
			return nil
		}
		return eachFolder(ctx, path, func(shard string) error { return s.listShard(ctx, shard, prefix, yield) })
	})
}

func (s *Store) listShard(ctx context.Context, shard, prefix string, yield func(blobs.Blob, error) bool) error {
	err := eachEntry(ctx, shard, func(entry fs.DirEntry) error {
		address := blobs.Address(entry.Name())
		if !strings.HasPrefix(entry.Name(), prefix) || address.Check() != nil || s.shard(address.Owner()) != shard {
			return nil
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // deleted meanwhile
		}
		if err != nil {
			return err
		}
		if !yield(blobs.Blob{Address: address, Size: info.Size(), Stored: info.ModTime()}, nil) {
			return errStop
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(filepath.Join(s.dir, keptFolder)) // a shard without blobs may be missing, the store may not
	}
	return err
}

// eachFolder calls do with the path of each folder in a folder, until an error.
func eachFolder(ctx context.Context, path string, do func(path string) error) error {
	return eachEntry(ctx, path, func(entry fs.DirEntry) error {
		if !entry.IsDir() {
			return nil
		}
		return do(filepath.Join(path, entry.Name()))
	})
}

// eachEntry calls do for each entry of a folder, until an error or the end of ctx.
func eachEntry(ctx context.Context, path string, do func(fs.DirEntry) error) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		entries, err := folder.ReadDir(entriesAtOnce)
		for _, entry := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := do(entry); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
