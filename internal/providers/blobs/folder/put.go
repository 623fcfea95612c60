package folder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/recital-tts/recital/internal/providers/blobs"
)

// Put implements blobs.Store: it writes and flushes a temporary file, renames it, and flushes its folder.
func (s *Store) Put(ctx context.Context, address blobs.Address, r io.Reader, size int64) (blobs.Blob, error) {
	if err := check(ctx, address); err != nil {
		return blobs.Blob{}, err
	}
	file, err := os.CreateTemp(filepath.Join(s.dir, incomingFolder), s.instance+"-*") // 0600
	if err != nil {
		return blobs.Blob{}, s.unavailable("making a file for a blob", err)
	}
	if err := s.fill(file, blobs.NewSource(ctx, r, size)); err != nil {
		return blobs.Blob{}, errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	if err := s.place(file, address); err != nil {
		return blobs.Blob{}, s.unavailable("putting a blob in its place", err)
	}
	return s.Stat(ctx, address)
}

// fill writes and flushes the content.
func (s *Store) fill(file *os.File, source *blobs.Source) error {
	_, err := io.Copy(file, source)
	switch {
	case source.Err() != nil:
		return source.Err()
	case err != nil:
		return s.unavailable("writing a blob", err)
	}
	if err := file.Sync(); err != nil {
		return s.unavailable("flushing a blob", err)
	}
	return nil
}

// place closes the file and renames it.
func (s *Store) place(file *os.File, address blobs.Address) error {
	path := s.path(address)
	err := file.Close()
	if err == nil {
		err = makeShard(filepath.Dir(path))
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return syncFolder(filepath.Dir(path))
}

// makeShard creates the folders of a blob, of its kind of owner and of its shard.
func makeShard(path string) error {
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	return makeFolder(path)
}

// makeFolder creates a folder and makes its name durable before anything is put into it.
func makeFolder(path string) error {
	err := os.Mkdir(path, folderMode)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// unavailable is failed for calls in which only the folder itself can be missing.
func (s *Store) unavailable(doing string, err error) error {
	s.log.Error("the blob folder failed", "step", doing, "error", err)
	return fmt.Errorf("%s: %w: %w", doing, blobs.ErrUnavailable, err)
}
