// Package folder stores blobs in a folder of this machine, or of a file system that several instances share.
//
//	incoming/<instance>-<random>             being written
//	kept/<kind of owner>/<shard>/<address>   the shard is two digits of a hash of the owner
package folder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/recital-tts/recital/internal/process/datafolder"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

const (
	incomingFolder = "incoming"
	keptFolder     = "kept"
	folderMode     = 0o700

	// abandonedAfter is the age at which an unfinished file of another instance counts as abandoned.
	abandonedAfter = 24 * time.Hour
)

// Config configures a Store. All fields are required.
type Config struct {
	Dir      string
	Instance string // name of the writer; unique among concurrent writers to the folder
	Logger   *slog.Logger
}

// Store implements blobs.Store.
type Store struct {
	dir      string
	instance string
	log      *slog.Logger
}

// Open creates the folder if it is missing, and removes unfinished files of this instance's last run.
func Open(config Config) (*Store, error) {
	name := sha256.Sum256([]byte(config.Instance))
	s := &Store{dir: config.Dir, instance: hex.EncodeToString(name[:8]), log: config.Logger}
	for _, folder := range []string{incomingFolder, keptFolder} {
		if err := os.MkdirAll(filepath.Join(s.dir, folder), folderMode); err != nil {
			return nil, fmt.Errorf("opening the blob folder: %w", err)
		}
	}
	if err := errors.Join(datafolder.Sync(s.dir), s.removeLeftovers(time.Now())); err != nil {
		return nil, fmt.Errorf("opening the blob folder: %w", err)
	}
	return s, nil
}

// removeLeftovers removes the unfinished files of this instance, and those of others that are too old to be still in
// use.
func (s *Store) removeLeftovers(now time.Time) error {
	return eachEntry(context.Background(), filepath.Join(s.dir, incomingFolder), func(entry fs.DirEntry) error {
		info, err := entry.Info()
		if err == nil && (strings.HasPrefix(entry.Name(), s.instance+"-") || now.Sub(info.ModTime()) >= abandonedAfter) {
			err = os.Remove(filepath.Join(s.dir, incomingFolder, entry.Name()))
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		return err
	})
}

// path returns the path of a blob. It is called only with checked addresses.
func (s *Store) path(address blobs.Address) string {
	return filepath.Join(s.shard(address.Owner()), string(address))
}

// shard returns the folder of all blobs of an owner, so that they can be listed without their names.
func (s *Store) shard(owner blobs.Owner) string {
	kind, _, _ := strings.Cut(string(owner), "-")
	hash := sha256.Sum256([]byte(owner))
	return filepath.Join(s.dir, keptFolder, kind, hex.EncodeToString(hash[:1]))
}

// Stat implements blobs.Store.
func (s *Store) Stat(ctx context.Context, address blobs.Address) (blobs.Blob, error) {
	if err := check(ctx, address); err != nil {
		return blobs.Blob{}, err
	}
	info, err := os.Stat(s.path(address))
	if err != nil {
		return blobs.Blob{}, s.failed("looking at a blob", err)
	}
	return blobs.Blob{Address: address, Size: info.Size(), Stored: info.ModTime()}, nil
}

// Open implements blobs.Store.
func (s *Store) Open(ctx context.Context, address blobs.Address, offset, length int64) (io.ReadCloser, error) {
	if err := check(ctx, address); err != nil {
		return nil, err
	}
	if offset < 0 || length < 0 {
		return nil, errors.New("reading a blob: offset and length cannot be negative")
	}
	file, err := os.Open(s.path(address))
	if err != nil {
		return nil, s.failed("opening a blob", err)
	}
	return &section{ctx: ctx, store: s, file: file, rest: io.NewSectionReader(file, offset, length)}, nil
}

// section reads a part of a file until its context ends.
type section struct {
	ctx   context.Context
	store *Store
	file  *os.File
	rest  *io.SectionReader
}

func (r *section) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, fmt.Errorf("reading a blob: %w", err)
	}
	n, err := r.rest.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.store.failed("reading a blob", err)
	}
	return n, err
}

func (r *section) Close() error { return r.file.Close() }

// Delete implements blobs.Store.
func (s *Store) Delete(ctx context.Context, address blobs.Address) error {
	if err := check(ctx, address); err != nil {
		return err
	}
	path := s.path(address)
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = datafolder.Sync(filepath.Dir(path))
	}
	if err != nil {
		return s.failed("deleting a blob", err)
	}
	return nil
}

func check(ctx context.Context, address blobs.Address) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("asking the blob folder: %w", err)
	}
	return address.Check()
}

// failed wraps an error with the failed step. It omits paths, which are only logged.
func (s *Store) failed(doing string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", doing, blobs.ErrNotFound)
	}
	return s.unavailable(doing, err)
}

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
	return datafolder.Sync(filepath.Dir(path))
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
	return datafolder.Sync(filepath.Dir(path))
}

// unavailable is failed for steps in which only the folder itself can be missing.
func (s *Store) unavailable(doing string, err error) error {
	s.log.Error("the blob folder failed", "step", doing, "error", err)
	return fmt.Errorf("%s: %w: %w", doing, blobs.ErrUnavailable, err)
}

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
