package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// folderMode is that of folders, whose files are for their owner alone.
const folderMode = 0o700

// Folder is the folder of a backup. A run has it for itself; those who read it share it.
type Folder struct {
	dir  string
	lock *os.File
}

// Open opens a folder for a run, and creates it if it is missing. A folder with files that are not a backup's is
// refused.
func Open(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return nil, fmt.Errorf("making the folder of the backup: %w", err)
	}
	if err := checkOurs(dir); err != nil {
		return nil, err
	}
	return open(dir, syscall.LOCK_EX)
}

// OpenToRead opens the folder of a complete backup. Errors: ErrNone.
func OpenToRead(dir string) (*Folder, Manifest, error) {
	if _, err := os.Stat(filepath.Join(dir, manifestName)); err != nil {
		return nil, Manifest{}, fmt.Errorf("%s: %w", dir, ErrNone)
	}
	f, err := open(dir, syscall.LOCK_SH)
	if err != nil {
		return nil, Manifest{}, err
	}
	m, err := f.Manifest()
	if err != nil {
		return nil, m, errors.Join(err, f.Close())
	}
	return f, m, nil
}

func checkOurs(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("opening the folder of the backup: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() == lockName {
			return nil
		}
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s holds something that is not a backup; give an empty folder, or that of an earlier backup", dir)
	}
	return nil
}

const lockName = "lock"

func open(dir string, how int) (*Folder, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of the backup: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fmt.Errorf("another backup or restore works in %s", dir)
		}
		return nil, errors.Join(err, file.Close())
	}
	return &Folder{dir: dir, lock: file}, nil
}

// Close gives the folder free.
func (f *Folder) Close() error { return f.lock.Close() }

func (f *Folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// removeAllBut removes what crashes and earlier runs have left in a folder, but for the files to keep.
func (f *Folder) removeAllBut(folder string, keep ...Part) error {
	entries, err := os.ReadDir(f.path(folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cleaning the backup up: %w", err)
	}
	kept := map[string]bool{}
	for _, part := range keep {
		kept[part.File] = true
	}
	for _, entry := range entries {
		name := folder + "/" + entry.Name()
		if entry.IsDir() || kept[name] {
			continue
		}
		if err := os.Remove(f.path(name)); err != nil {
			return fmt.Errorf("cleaning the backup up: %w", err)
		}
	}
	return nil
}

// isUnfinished reports whether a file was being written when a run was killed.
func isUnfinished(name string) bool { return strings.HasSuffix(name, unfinished) }
