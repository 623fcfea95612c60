// Package datafolder manages the folder in which a recitald keeps its own data: it locks the folder, so that no two
// processes use it, creates files once, and stores secrets that only their owner can read.
package datafolder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Folder is a data folder that this process has locked.
type Folder struct {
	dir  string // absolute
	lock *os.File
}

// Open locks the folder, which it creates and marks if it is new, and removes unfinished files of killed starts. A
// folder of an unreleased build or of another format is refused and left as it is. Others can traverse the folder,
// because the user of the private Postgres has its data below it; every secret in it has a mode of its own.
func Open(dir string) (*Folder, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("finding the data folder: %w", err)
	}
	if err := CheckFormat(absolute); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(absolute, 0o711); err != nil {
		return nil, fmt.Errorf("making the data folder: %w", err)
	}
	f := &Folder{dir: absolute}
	if f.lock, err = lock(f.Path(lockName), absolute); err != nil {
		return nil, err
	}
	if err := errors.Join(f.checkRestored(), f.removeUnfinished(), f.markFormat()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Dir returns the absolute path of the folder.
func (f *Folder) Dir() string { return f.dir }

// Path joins elements to the path of the folder.
func (f *Folder) Path(elements ...string) string {
	return filepath.Join(append([]string{f.dir}, elements...)...)
}

// Close unlocks the folder. Closing the file is not enough while a child that is being started, not yet at its exec,
// also has it open.
func (f *Folder) Close() error {
	return errors.Join(syscall.Flock(int(f.lock.Fd()), syscall.LOCK_UN), f.lock.Close())
}
