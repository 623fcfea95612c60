// Package backup reads, writes and checks the files of a backup. A crash leaves no half-written file.
//
//	manifest.json        the contents of the backup as of its last complete run
//	next.json            the same for a run in progress
//	log/NNNNNN.zst       records of internal/events/logcopy
//	keyring/NNNNNN.zst   a copy of internal/access/keyring: keys wrapped with the master key
//	blobs/XX/<address>   blobs as they are in the store, and a list of them; XX are digits of the address
//
// The master key, the signing key and tokens are never in it.
package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/release"
)

// folderMode is the mode of folders, private to their owner.
const folderMode = 0o700

// Folder is the folder of a backup. A run locks it exclusively; readers share it.
type Folder struct {
	dir  string
	lock *os.File
}

// Open opens a folder for a run, and creates it if it is missing. It refuses a folder with files of anything else.
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
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
	}
	if len(entries) == 0 || has(lockName) && !has(dataFolderMark) {
		return nil
	}
	return fmt.Errorf("%s holds something that is not a backup; give an empty folder, or that of an earlier backup", dir)
}

// A data folder of recitald has a file named lock, too, and this one.
const dataFolderMark = "format.json"

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

// Close unlocks the folder.
func (f *Folder) Close() error { return f.lock.Close() }

func (f *Folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// removeAllBut removes leftovers of crashes and earlier runs from a folder, except the files to keep.
func (f *Folder) removeAllBut(folder string, keep ...Part) error {
	kept := map[string]bool{}
	for _, part := range keep {
		kept[part.File] = true
	}
	return f.clean(folder, func(name string) bool { return kept[folder+"/"+name] })
}

// clean removes the files from a folder that are not kept.
func (f *Folder) clean(folder string, kept func(name string) bool) error {
	entries, err := os.ReadDir(f.path(folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cleaning the backup up: %w", err)
	}
	for _, entry := range entries {
		if entry.IsDir() || kept(entry.Name()) {
			continue
		}
		if err := os.Remove(f.path(folder + "/" + entry.Name())); err != nil {
			return fmt.Errorf("cleaning the backup up: %w", err)
		}
	}
	return nil
}

// KeyringName is the name of the copy of the keyring that a restore leaves in a data folder. recitald imports it at its
// start.
const KeyringName = "keyring-import"

// Manifest lists the contents of a backup. Other files are no part of it.
type Manifest struct {
	Format  string    `json:"format"` // release.Format of the release that wrote it
	Run     int       `json:"run"`    // number of the run that wrote it, from 1 on
	Begun   time.Time `json:"begun"`  // the backup has all events that were in the log by then
	Ended   time.Time `json:"ended,omitzero"`
	LogID   uuid.UUID `json:"logId"`
	Epoch   int       `json:"epoch"`
	Events  uint64    `json:"events"`
	Log     []Part    `json:"log"`
	Keyring Part      `json:"keyring"`
	Blobs   Part      `json:"blobs"` // their list
	Stored  Stored    `json:"stored"`
}

// Part is a file of a backup.
type Part struct {
	File   string `json:"file"` // below the backup's folder
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	// For a part of the log: its events, and the position of the last one.
	Events   uint64 `json:"events,omitempty"`
	Position string `json:"position,omitempty"`
}

// Stored is the sum of a list of blobs.
type Stored struct {
	Blobs int   `json:"blobs"`
	Bytes int64 `json:"bytes"`
}

// Identity returns the identity of the log.
func (m Manifest) Identity() eventlog.Identity {
	return eventlog.Identity{LogID: m.LogID, Epoch: m.Epoch}
}

// Size returns the size of all files together, in bytes.
func (m Manifest) Size() int64 {
	size := m.Keyring.Bytes + m.Blobs.Bytes + m.Stored.Bytes
	for _, part := range m.Log {
		size += part.Bytes
	}
	return size
}

// Position returns the position of the last event in the backup, the start if there is none.
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

// Manifest returns the manifest of the last complete run. Errors: ErrNone.
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
