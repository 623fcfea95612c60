package spool

import (
	"fmt"
	"io"
	"os"
)

// File is written once, by one goroutine, and then read. Close may be called at any time; reading
// fails then.
type File struct {
	spool *Spool
	owner string
	size  int64

	memory []byte   // the content, while disk is nil
	disk   *os.File // nil while the file is small

	// Guarded by Spool.mu.
	claimed int64
	small   bool // counts among the files in memory
	closed  bool
}

// Write appends to the file. Errors: ErrTooLarge, ErrFull, and disk errors.
func (f *File) Write(p []byte) (int, error) {
	size := f.size + int64(len(p))
	small, err := f.spool.extend(f, size)
	if err != nil {
		return 0, fmt.Errorf("spooling: %w", err)
	}
	if f.disk == nil && !small {
		if err := f.moveToDisk(); err != nil {
			return 0, fmt.Errorf("spooling: %w", err)
		}
	}
	if f.disk == nil {
		f.memory, f.size = append(f.memory, p...), size
		return len(p), nil
	}
	n, err := f.disk.Write(p)
	f.size += int64(n)
	if err != nil {
		return n, fmt.Errorf("spooling: %w", err)
	}
	return n, nil
}

// moveToDisk gives the file a place on the disk, without a name.
func (f *File) moveToDisk() error {
	disk, err := os.CreateTemp(f.spool.cfg.Dir, pattern) // 0600
	if err != nil {
		return err
	}
	if err := os.Remove(disk.Name()); err != nil {
		disk.Close()
		return err
	}
	if !f.spool.place(f, disk) {
		return os.ErrClosed
	}
	if _, err := disk.Write(f.memory); err != nil {
		return err
	}
	f.memory = nil
	return nil
}

// place hands a file its place on the disk, unless it was closed meanwhile.
func (s *Spool) place(f *File, disk *os.File) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.closed {
		disk.Close()
		return false
	}
	f.disk = disk
	s.forgetSmall(f)
	return true
}

func (s *Spool) forgetSmall(f *File) {
	if f.small {
		f.small = false
		s.small--
	}
}

// Size returns the number of bytes.
func (f *File) Size() int64 { return f.size }

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	if f.disk != nil {
		return f.disk.ReadAt(p, offset)
	}
	if offset >= int64(len(f.memory)) {
		return 0, io.EOF
	}
	n := copy(p, f.memory[offset:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Overwrite replaces bytes that have been written.
func (f *File) Overwrite(p []byte, offset int64) error {
	if offset < 0 || offset+int64(len(p)) > f.size {
		return io.ErrShortWrite
	}
	if f.disk == nil {
		copy(f.memory[offset:], p)
		return nil
	}
	if _, err := f.disk.WriteAt(p, offset); err != nil {
		return fmt.Errorf("spooling: %w", err)
	}
	return nil
}

// WriteTo implements io.WriterTo. It may be called again.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	if f.disk == nil {
		n, err := w.Write(f.memory)
		return int64(n), err
	}
	return io.Copy(w, io.NewSectionReader(f.disk, 0, f.size))
}

// Finish returns the unused part of the claim. The file must not be written to afterwards.
func (f *File) Finish() {
	f.spool.mu.Lock()
	defer f.spool.mu.Unlock()
	if !f.closed {
		f.spool.claim(f, f.size-f.claimed)
	}
}

// Close erases the file and returns its claim. It may be called again.
func (f *File) Close() {
	s := f.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.closed {
		return
	}
	f.closed = true
	s.claim(f, -f.claimed)
	s.forgetSmall(f)
	if f.disk != nil {
		_ = f.disk.Close() // nothing of it is needed any more
	}
}
