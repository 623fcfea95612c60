package datafolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// unfinished is the pattern of files that are being written.
const unfinished = ".new-*"

// FileOnce returns the content of a file of mode 0600, which is created if it is missing: written to a temporary
// file, flushed, then linked, so that it is complete or absent, and the first of two starts wins.
func (f *Folder) FileOnce(name string, content func() (string, error)) (string, error) {
	path := f.Path(name)
	existing, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(existing)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	text, err := content()
	if err != nil {
		return "", fmt.Errorf("making %s: %w", name, err)
	}
	if err := f.writeOnce(path, text+"\n"); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("writing %s: %w", name, err)
	}
	final, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	return strings.TrimSpace(string(final)), nil
}

func (f *Folder) writeOnce(path, text string) error {
	temporary, err := os.CreateTemp(f.dir, unfinished) // 0600
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.WriteString(text)
	err = errors.Join(err, temporary.Sync(), temporary.Close())
	if err != nil {
		return err
	}
	if err := os.Link(temporary.Name(), path); err != nil {
		return err
	}
	return syncFolder(f.dir)
}

// removeUnfinished removes unfinished files of starts that were killed.
func (f *Folder) removeUnfinished() error {
	left, err := filepath.Glob(f.Path(unfinished))
	if err != nil {
		return err
	}
	for _, path := range left {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("removing an unfinished file: %w", err)
		}
	}
	return nil
}
