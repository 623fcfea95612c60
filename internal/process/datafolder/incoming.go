package datafolder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Incoming is a file of the folder that comes in pieces, or was put there while no recitald worked, and is taken up
// once.
type Incoming struct{ path string }

// Incoming returns the file with a name. It need not exist.
func (f *Folder) Incoming(name string) Incoming { return Incoming{f.Path(name)} }

// Waits reports whether the file is there.
func (i Incoming) Waits() bool {
	_, err := os.Stat(i.path)
	return err == nil
}

// ErrGap means that a piece does not follow what is there.
var ErrGap = errors.New("a piece of the file is missing")

// Put writes a piece at an offset in bytes, and drops what was behind. A piece may be repeated; the one at 0 begins
// anew. Errors: ErrGap.
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

// Take calls use with the content, and removes the file when that returns nil; a crash between both has it used again.
// It does nothing where there is no file, and reports whether there was one.
func (i Incoming) Take(use func(io.Reader) error) (found bool, err error) {
	file, err := os.Open(i.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("taking a file up: %w", err)
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
		return fmt.Errorf("removing a file that was taken up: %w", err)
	}
	return syncFolder(filepath.Dir(i.path))
}

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
