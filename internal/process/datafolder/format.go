package datafolder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/recital-tts/recital/internal/process/release"
)

// formatName is the file that marks a data folder. A start or a restore writes it before any data.
const formatName = "format.json"

// mark is the content of the file.
type mark struct {
	Format string `json:"format"`
}

// CheckFormat returns an error if a folder comes from an unreleased build or has another format. It writes nothing.
func CheckFormat(dir string) error {
	used := isUsed(dir) // before the mark is read: another start writes the mark first
	content, err := os.ReadFile(filepath.Join(dir, formatName))
	if errors.Is(err, fs.ErrNotExist) && !used {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the format of the data folder: %w", err)
	}
	var found mark
	if err == nil {
		if err := json.Unmarshal(content, &found); err != nil {
			return fmt.Errorf("reading the format of the data folder: %s: %w", formatName, err)
		}
	}
	return release.CheckFormat("the data folder "+dir, found.Format)
}

// isUsed reports whether a recitald has worked in a folder. One that holds secrets and mount points is new: operators
// may have prepared it.
func isUsed(dir string) bool {
	for _, name := range []string{"eventnode/LOCK", "postgres/data/PG_VERSION", addressesName} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// markFormat writes the mark, unless it is there.
func (f *Folder) markFormat() error {
	_, err := f.FileOnce(formatName, func() (string, error) {
		content, err := json.Marshal(mark{Format: release.Format})
		return string(content), err
	})
	return err
}
