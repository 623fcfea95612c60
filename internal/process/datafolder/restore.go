package datafolder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// restoringName is a file that says which restore into the folder is not complete.
const restoringName = "restoring"

// checkRestored refuses a folder into which a restore is not complete: what is in it is a part of the log.
func (f *Folder) checkRestored() error {
	if _, err := os.Stat(f.Path(restoringName)); err == nil {
		return fmt.Errorf("the restore into %s is not complete: repeat recitalctl restore, which goes on", f.dir)
	}
	return nil
}

// OpenToRestore opens an empty folder for the restore of a backup, or one in which the restore of the same backup was
// cut short. No recitald uses the folder before EndRestore.
func OpenToRestore(dir, backup string) (*Folder, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("finding the data folder: %w", err)
	}
	if err := os.MkdirAll(absolute, 0o711); err != nil {
		return nil, fmt.Errorf("making the data folder: %w", err)
	}
	if err := checkEmpty(absolute); err != nil {
		return nil, err
	}
	f := &Folder{dir: absolute}
	if f.lock, err = lock(f.Path(lockName), absolute); err != nil {
		return nil, err
	}
	if err := f.beginRestore(backup); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := f.markFormat(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func checkEmpty(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, restoringName)); err == nil {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("opening the data folder: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() != lockName && !strings.HasPrefix(entry.Name(), strings.TrimSuffix(unfinished, "*")) {
			return fmt.Errorf("%s is not empty; a backup is restored into a new folder only (--data-dir)", dir)
		}
	}
	return nil
}

func (f *Folder) beginRestore(backup string) error {
	of, err := f.FileOnce(restoringName, func() (string, error) { return backup, nil })
	if err == nil && of != backup {
		err = fmt.Errorf("the restore of another backup, or of another run of it, was begun in %s; give another folder",
			f.dir)
	}
	return err
}

// EndRestore says that the folder is complete.
func (f *Folder) EndRestore() error { return f.Incoming(restoringName).Remove() }
