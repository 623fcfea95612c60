package datafolder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// restoringName is the name of the file that identifies an incomplete restore into the folder.
const restoringName = "restoring"

// checkRestored refuses a folder with an incomplete restore, which contains only a part of the log.
func (f *Folder) checkRestored() error {
	if _, err := os.Stat(f.Path(restoringName)); err == nil {
		return fmt.Errorf("the restore into %s is not complete: repeat recitalctl restore, which goes on", f.dir)
	}
	return nil
}

// OpenToRestore opens an empty folder for the restore of a backup, or a folder with an interrupted restore of the same
// backup. No recitald uses the folder before EndRestore.
func OpenToRestore(dir, backup string) (*Folder, error) {
	begin := func(f *Folder) error { return f.beginRestore(backup) }
	return open(dir, checkEmpty, begin, (*Folder).markFormat)
}

func checkEmpty(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, restoringName)); err == nil {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// EndRestore marks the folder as complete.
func (f *Folder) EndRestore() error { return f.Incoming(restoringName).Remove() }

// Incoming is a file of the folder that is received in pieces, or was put there while no recitald ran, and is consumed
// once.
type Incoming struct{ path string }

// Incoming returns the file with a name. It need not exist.
func (f *Folder) Incoming(name string) Incoming { return Incoming{f.Path(name)} }

// Waits reports whether the file exists.
func (i Incoming) Waits() bool {
	_, err := os.Stat(i.path)
	return err == nil
}

// ErrGap means that a piece does not follow the received ones.
var ErrGap = errors.New("a piece of the file is missing")

// Put writes a piece at an offset in bytes, and drops everything after it. A piece may be repeated; offset 0 starts
// over. Errors: ErrGap.
func (i Incoming) Put(offset int64, piece []byte) error {
	file, err := os.OpenFile(i.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("receiving a file: %w", err)
	}
	return errors.Join(put(file, offset, piece), file.Close())
}

func put(file *os.File, offset int64, piece []byte) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("receiving a file: %w", err)
	}
	if offset < 0 || offset > info.Size() {
		return ErrGap
	}
	if err := file.Truncate(offset); err != nil {
		return fmt.Errorf("receiving a file: %w", err)
	}
	if _, err := file.WriteAt(piece, offset); err != nil {
		return fmt.Errorf("receiving a file: %w", err)
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("receiving a file: %w", err)
	}
	return nil
}

// Take calls use with the content, and removes the file if use returns nil. After a crash between the two, the file is
// used again. Take reports whether the file exists; if not, it does nothing.
func (i Incoming) Take(use func(io.Reader) error) (found bool, err error) {
	file, err := os.Open(i.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("consuming a file: %w", err)
	}
	defer file.Close()
	if err := use(file); err != nil {
		return true, err
	}
	return true, i.Remove()
}

// Remove removes the file, if there is one.
func (i Incoming) Remove() error {
	if err := os.Remove(i.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a consumed file: %w", err)
	}
	return Sync(filepath.Dir(i.path))
}

// Sync makes the names in a folder durable.
func Sync(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
