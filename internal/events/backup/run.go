package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/release"
)

// Run is one run of a backup: first the log, then the keyring, then the blobs. The order is what makes the backup
// consistent: a key is stored before anything is sealed with it, and a blob before the event that names it, so both
// copies have all keys and blobs of the copied events. Until Commit the folder is the backup of the previous run.
type Run struct {
	folder *Folder
	former Manifest // of the last complete run; zero before the first
	draft  Manifest
	now    time.Time
	gone   []string // files to remove after the commit
}

// Begin begins a run, or continues one that was cut short.
func (f *Folder) Begin(now time.Time) (*Run, error) {
	former, err := f.Manifest()
	if err != nil && !errors.Is(err, ErrNone) {
		return nil, err
	}
	draft, err := f.read(draftName)
	if err != nil && !errors.Is(err, ErrNone) {
		return nil, err
	}
	if errors.Is(err, ErrNone) || draft.Run != former.Run+1 {
		draft = former
		draft.Format, draft.Run = release.Format, former.Run+1
		draft.Log = append([]Part(nil), former.Log...)
	}
	draft.Begun = now
	return &Run{folder: f, former: former, draft: draft, now: now}, nil
}

// Position returns the position of the last event in the backup.
func (r *Run) Position() (eventlog.Position, error) { return r.draft.Position() }

// Earlier returns the manifest of the previous run, for a comparison.
func (r *Run) Earlier() Manifest { return r.former }

// Fresh reports whether the folder has no event yet.
func (r *Run) Fresh() bool { return len(r.draft.Log) == 0 }

// WriteKeyring writes a complete copy of the keyring.
func (r *Run) WriteKeyring(from io.Reader) error {
	out, err := r.folder.createPacked(fmt.Sprintf("keyring/%06d.zst", r.draft.Run))
	if err != nil {
		return err
	}
	defer out.discard()
	copied, err := keyring.NewCopyReader(io.TeeReader(from, out))
	for err == nil {
		_, err = copied.Next()
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	r.draft.Keyring, err = out.finish()
	return err
}

// Keyring opens the copy of the keyring.
func (f *Folder) Keyring(m Manifest) (io.ReadCloser, error) {
	copied, err := f.unpack(m.Keyring.File)
	if err != nil {
		return nil, fmt.Errorf("opening the copy of the keyring: %w", err)
	}
	return copied, nil
}

// Commit makes the run the backup, in one step, and removes files that are no longer part of it. Most important are
// earlier copies of the keyring, because they hold keys that have been destroyed since.
func (r *Run) Commit(ended time.Time) (Manifest, error) {
	if r.draft.Keyring == r.former.Keyring || r.draft.Blobs.File == "" {
		return Manifest{}, errors.New("the run is not complete")
	}
	r.draft.Ended = ended
	if err := r.folder.write(manifestName, r.draft); err != nil {
		return Manifest{}, err
	}
	return r.draft, r.clean()
}

func (r *Run) clean() error {
	for _, name := range append(r.gone, draftName) {
		if err := os.Remove(r.folder.path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("cleaning the backup up: %w", err)
		}
	}
	return errors.Join(
		r.folder.removeAllBut("log", r.draft.Log...),
		r.folder.removeAllBut("keyring", r.draft.Keyring),
		r.folder.removeAllBut("blobs", r.draft.Blobs),
		os.RemoveAll(r.folder.path(sortedName)),
	)
}

// encodeLine encodes a line of a list.
func encodeLine(to *json.Encoder, line Blob) error {
	if err := to.Encode(line); err != nil {
		return fmt.Errorf("writing the list of blobs: %w", err)
	}
	return nil
}

// CheckKeyring compares the copy of the keyring with its description.
func (f *Folder) CheckKeyring(m Manifest) error { return f.check(m.Keyring) }
