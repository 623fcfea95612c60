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

	"github.com/recital-tts/recital/internal/blobs"
)

// entriesAtOnce bounds the memory that listing a folder takes.
const entriesAtOnce = 256

var errStop = errors.New("no more entries are wanted")

// List implements blobs.Store. What is no blob of this store is left out.
func (s *Store) List(ctx context.Context) iter.Seq2[blobs.Blob, error] {
	return func(yield func(blobs.Blob, error) bool) {
		err := eachEntry(s.dir, func(shard fs.DirEntry) error {
			if !shard.IsDir() || len(shard.Name()) != 2 {
				return nil
			}
			return s.listShard(ctx, shard.Name(), yield)
		})
		switch {
		case err == nil, errors.Is(err, errStop):
		case ctx.Err() != nil:
			yield(blobs.Blob{}, fmt.Errorf("listing blobs: %w", ctx.Err()))
		default:
			yield(blobs.Blob{}, s.unavailable("listing blobs", err))
		}
	}
}

func (s *Store) listShard(ctx context.Context, shard string, yield func(blobs.Blob, error) bool) error {
	return eachEntry(filepath.Join(s.dir, shard), func(entry fs.DirEntry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		address := blobs.Address(entry.Name())
		if address.Check() != nil || address.Hash()[:2] != shard {
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
}

// eachEntry calls do for each entry of a folder, until an error.
func eachEntry(path string, do func(fs.DirEntry) error) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	for {
		entries, err := folder.ReadDir(entriesAtOnce)
		for _, entry := range entries {
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
