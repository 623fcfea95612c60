package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/release"
)

// Manifest says what a backup consists of. What it does not name is no part of the backup.
type Manifest struct {
	Format  string    `json:"format"` // release.Format of the release that wrote it
	Run     int       `json:"run"`    // number of the run that wrote it, from 1 on
	Begun   time.Time `json:"begun"`  // the backup has whatever was in the log by then
	Ended   time.Time `json:"ended,omitzero"`
	LogID   uuid.UUID `json:"logId"`
	Epoch   int       `json:"epoch"`
	Events  uint64    `json:"events"`
	Log     []Part    `json:"log"`
	Keyring Part      `json:"keyring"`
	Blobs   Part      `json:"blobs"` // the list of them
	Stored  Stored    `json:"stored"`
}

// Part is a file of a backup.
type Part struct {
	File   string `json:"file"` // below the backup's folder
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	// Of a part of the log: its events, and the position of the last one.
	Events   uint64 `json:"events,omitempty"`
	Position string `json:"position,omitempty"`
}

// Stored is what a list of blobs amounts to.
type Stored struct {
	Blobs int   `json:"blobs"`
	Bytes int64 `json:"bytes"`
}

// Identity returns that of the log.
func (m Manifest) Identity() eventlog.Identity {
	return eventlog.Identity{LogID: m.LogID, Epoch: m.Epoch}
}

// Size is that of all files together, in bytes.
func (m Manifest) Size() int64 {
	size := m.Keyring.Bytes + m.Blobs.Bytes + m.Stored.Bytes
	for _, part := range m.Log {
		size += part.Bytes
	}
	return size
}

// Position returns that of the last event in the backup, the start if there is none.
func (m Manifest) Position() (eventlog.Position, error) {
	if len(m.Log) == 0 {
		return eventlog.Start(), nil
	}
	return eventlog.ParsePosition(m.Log[len(m.Log)-1].Position)
}

const (
	manifestName = "manifest.json"
	draftName    = "next.json"
)

// ErrNone means that a folder holds no complete backup.
var ErrNone = errors.New("the folder holds no complete backup")

// Manifest returns that of the last complete run. Errors: ErrNone.
func (f *Folder) Manifest() (Manifest, error) { return f.read(manifestName) }

func (f *Folder) read(name string) (m Manifest, err error) {
	content, err := os.ReadFile(f.path(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, ErrNone
	case err != nil:
		return m, fmt.Errorf("reading the backup: %w", err)
	}
	if err := f.checkFormat(name, content); err != nil {
		return m, err
	}
	if err := json.Unmarshal(content, &m); err != nil {
		return m, fmt.Errorf("%s is damaged: %w", name, err)
	}
	return m, nil
}

// checkFormat refuses a backup of an unreleased build, whose mark is a number, or of another format.
func (f *Folder) checkFormat(name string, content []byte) error {
	var marked struct {
		Format any `json:"format"`
	}
	if err := json.Unmarshal(content, &marked); err != nil {
		return fmt.Errorf("%s is damaged: %w", name, err)
	}
	format, _ := marked.Format.(string)
	return release.CheckFormat("the backup "+f.dir, format)
}

// write replaces a manifest as a whole.
func (f *Folder) write(name string, m Manifest) error {
	content, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	out, err := f.create(name)
	if err != nil {
		return err
	}
	defer out.discard()
	if _, err := out.Write(content); err != nil {
		return err
	}
	_, err = out.finish()
	return err
}
