package backup

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// unfinished ends the names of files that are being written.
const unfinished = ".unfinished"

// file is a file that is being written. It gets its name when it is complete, on the disk, and was read again.
type file struct {
	folder *Folder
	name   string
	to     *os.File
	out    *bufio.Writer
	sum    hash.Hash
	size   int64
	done   bool
}

func (f *Folder) create(name string) (*file, error) {
	path := f.path(name)
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return nil, fmt.Errorf("writing %s: %w", name, err)
	}
	to, err := os.OpenFile(path+unfinished, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", name, err)
	}
	return &file{folder: f, name: name, to: to, out: bufio.NewWriterSize(to, 256<<10), sum: sha256.New()}, nil
}

// Write implements io.Writer.
func (w *file) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	w.sum.Write(p[:n])
	w.size += int64(n)
	if err != nil {
		return n, fmt.Errorf("writing %s: %w", w.name, err)
	}
	return n, nil
}

// finish flushes the file, reads it again from the disk, compares, and gives it its name.
func (w *file) finish() (Part, error) {
	part := Part{File: w.name, SHA256: hex.EncodeToString(w.sum.Sum(nil)), Bytes: w.size}
	err := w.out.Flush()
	if err == nil {
		err = w.to.Sync()
	}
	if err == nil {
		err = reread(w.to, part)
	}
	if err == nil {
		err = os.Rename(w.to.Name(), w.folder.path(w.name))
	}
	if err == nil {
		err = syncFolder(filepath.Dir(w.to.Name()))
	}
	if err != nil {
		return part, fmt.Errorf("writing %s: %w", w.name, err)
	}
	w.done = true
	return part, w.to.Close()
}

// reread has the disk, and not the memory, answer, as far as the system follows the advice.
func reread(file *os.File, part Part) error {
	_ = unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
	return compare(io.NewSectionReader(file, 0, part.Bytes+1), part)
}

// discard removes a file that was not finished.
func (w *file) discard() {
	if !w.done {
		_ = w.to.Close()
		_ = os.Remove(w.to.Name())
	}
}

// ErrDamaged means that a file of a backup is not as it was written.
var ErrDamaged = errors.New("is not as it was written")

// compare reads a file and compares it with what was written.
func compare(r io.Reader, part Part) error {
	sum := sha256.New()
	size, err := io.CopyBuffer(sum, struct{ io.Reader }{r}, make([]byte, 256<<10))
	if err != nil {
		return err
	}
	switch {
	case size < part.Bytes:
		return fmt.Errorf("%w: it has %d bytes instead of %d", ErrDamaged, size, part.Bytes)
	case size > part.Bytes || hex.EncodeToString(sum.Sum(nil)) != part.SHA256:
		return fmt.Errorf("%w: its SHA-256 is another one", ErrDamaged)
	}
	return nil
}

// check compares a file of the backup with what was written. The error names it.
func (f *Folder) check(part Part) error {
	from, err := os.Open(f.path(part.File))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s %w: it is missing", part.File, ErrDamaged)
	}
	if err != nil {
		return fmt.Errorf("checking %s: %w", part.File, err)
	}
	defer from.Close()
	if err := compare(from, part); err != nil {
		return fmt.Errorf("%s %w", part.File, err)
	}
	return nil
}

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// measure describes a file that is complete.
func measure(from io.Reader, name string) (Part, error) {
	sum := sha256.New()
	size, err := io.Copy(sum, from)
	if err != nil {
		return Part{}, fmt.Errorf("reading %s: %w", name, err)
	}
	return Part{File: name, SHA256: hex.EncodeToString(sum.Sum(nil)), Bytes: size}, nil
}
