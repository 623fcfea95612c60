package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/recital-tts/recital/internal/process/postgres"
)

// scratchPrefix begins the names of the folders of drills.
const scratchPrefix = "recital-drill-"

// scratch is the folder of a drill. It is locked as long as the drill lives, so that the next one can tell what a
// killed one has left.
type scratch struct {
	dir  string
	lock *os.File
}

var errLocked = errors.New("another drill uses the folder")

// makeScratch makes the folder of a drill, and takes away those of drills that were killed. note is called with what
// cannot be taken away.
func makeScratch(parent string, note func(string)) (*scratch, error) {
	parent = cmp.Or(parent, os.TempDir())
	left, err := filepath.Glob(filepath.Join(parent, scratchPrefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("looking for what earlier drills have left: %w", err)
	}
	for _, dir := range left {
		if err := removeLeft(dir); err != nil {
			note(fmt.Sprintf("what an earlier drill has left stays in %s: %s", dir, err))
		}
	}
	for {
		dir, err := os.MkdirTemp(parent, scratchPrefix)
		if err != nil {
			return nil, fmt.Errorf("making a folder for the drill: %w", err)
		}
		s, err := lockScratch(dir)
		if errors.Is(err, errLocked) {
			continue // another drill takes it for what a killed one has left
		}
		if err == nil {
			err = os.Chmod(dir, 0o711) // for the user of Postgres
		}
		if err != nil {
			return nil, fmt.Errorf("making a folder for the drill: %w", err)
		}
		return s, nil
	}
}

// removeLeft removes the folder of a drill that does not run any more.
func removeLeft(dir string) error {
	s, err := lockScratch(dir)
	if errors.Is(err, errLocked) || errors.Is(err, os.ErrPermission) { // it runs, or is somebody else's
		return nil
	}
	if err != nil {
		return err
	}
	return s.remove()
}

// lockScratch locks a folder that is there. The lock is on the folder itself, and ends with the process.
func lockScratch(dir string) (*scratch, error) {
	lock, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errLocked // it was removed
	}
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil && !isStill(dir, lock) || errors.Is(err, syscall.EWOULDBLOCK) {
		err = errLocked
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &scratch{dir, lock}, nil
}

// isStill reports whether a path is the path of an open folder.
func isStill(dir string, open *os.File) bool {
	there, err := os.Lstat(dir)
	if err != nil {
		return false
	}
	opened, err := open.Stat()
	return err == nil && os.SameFile(there, opened)
}

func (s *scratch) data() string { return filepath.Join(s.dir, "data") }

// remove removes the folder. It first waits for a recitald whose recitalctl was killed; it stops by itself.
func (s *scratch) remove() error {
	var err error
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		err = postgres.RemoveCluster(filepath.Join(s.data(), "postgres"))
		if !errors.Is(err, postgres.ErrInUse) || time.Since(begun) > stopTimeout {
			break
		}
	}
	if err == nil {
		err = os.RemoveAll(s.dir)
	}
	return errors.Join(err, s.lock.Close())
}
