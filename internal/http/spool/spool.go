// Package spool stores uploads, and replies that must be complete before they are sent. Small ones are in memory, the
// others in unnamed files, which disappear with the process. They share one budget, which bounds the storage that slow
// clients can occupy.
package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

const (
	// inMemory is the size up to which a file is kept in memory, and maxInMemory the number of such files: 64 MiB.
	inMemory    = 256 << 10
	maxInMemory = 256
	// newWork is the part of the budget that new files may claim. The rest is for those that become larger than
	// expected, so that they do not suffer from new ones.
	newWork = 0.75
	// share is the part of the budget that one owner may claim.
	share = 0.25

	pattern = "reply-*"
)

var (
	// ErrFull means that the budget is spent.
	ErrFull = errors.New("the spool is full")
	// ErrShare means that the owner's share of the budget is spent.
	ErrShare = errors.New("the owner's share of the spool is spent")
	// ErrTooLarge means that a file became larger than Config.MaxFile.
	ErrTooLarge = errors.New("too large for the spool")
)

// Config configures a Spool.
type Config struct {
	Dir     string // is created if missing; belongs to this process alone
	Budget  int64  // bytes of all files
	MaxFile int64  // bytes of the largest file
}

// Spool creates files within a budget. It is safe for concurrent use.
type Spool struct {
	cfg Config

	mu      sync.Mutex
	claimed int64
	owners  map[string]int64 // claimed bytes by owner
	small   int              // files in memory
}

// Open creates the folder, and removes the files of processes that were killed before they could unlink them.
func Open(cfg Config) (*Spool, error) {
	if cfg.MaxFile <= 0 || cfg.Budget < cfg.MaxFile {
		return nil, errors.New("opening the spool: its budget is less than the largest file")
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening the spool: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(cfg.Dir, pattern))
	if err != nil {
		return nil, fmt.Errorf("opening the spool: %w", err)
	}
	for _, path := range left {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("sweeping the spool: %w", err)
		}
	}
	return &Spool{cfg: cfg, owners: map[string]int64{}}, nil
}

// Create returns an empty file, which may grow to Config.MaxFile, and reserves the expected number of bytes for it.
// Errors: ErrFull, ErrShare. The file must be closed.
func (s *Spool) Create(owner string, expected int64) (*File, error) {
	expected = min(max(expected, 0), s.cfg.MaxFile)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claimed > 0 && s.claimed+expected > int64(newWork*float64(s.cfg.Budget)) {
		return nil, ErrFull
	}
	if held := s.owners[owner]; held > 0 && held+expected > int64(share*float64(s.cfg.Budget)) {
		return nil, ErrShare
	}
	f := &File{spool: s, owner: owner}
	s.claim(f, expected)
	if s.small < maxInMemory {
		s.small++
		f.small = true
	}
	return f, nil
}

// Claimed returns the bytes that the open files have claimed.
func (s *Spool) Claimed() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claimed
}

// claim changes the claim of a file by some bytes. The caller holds the lock.
func (s *Spool) claim(f *File, bytes int64) {
	f.claimed += bytes
	s.claimed += bytes
	if s.owners[f.owner] += bytes; s.owners[f.owner] == 0 {
		delete(s.owners, f.owner)
	}
}

// extend makes room for a file of size bytes, and for as much again, because there are many small writes. It reports
// whether the file may be in memory.
func (s *Spool) extend(f *File, size int64) (small bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	small = f.small && size <= inMemory
	switch {
	case size > s.cfg.MaxFile:
		return false, ErrTooLarge
	case f.closed:
		return false, os.ErrClosed
	case size <= f.claimed:
		return small, nil
	}
	most := min(2*size, s.cfg.MaxFile, f.claimed+s.cfg.Budget-s.claimed)
	if most < size {
		return false, ErrFull
	}
	s.claim(f, most-f.claimed)
	return small, nil
}
