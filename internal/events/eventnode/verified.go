package eventnode

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
)

// verified is a range of the log in which no damage was found.
type verified struct {
	From     uint64    `json:"from"` // position of its first event
	To       uint64    `json:"to"`   // position after its last event
	Last     uint64    `json:"last"` // position of its last event
	LastID   uuid.UUID `json:"lastId"`
	Complete time.Time `json:"complete,omitzero"` // when it was the whole log
}

func (v verified) size() uint64 { return v.To - v.From }

const (
	verifiedFile = "verified.json"
	// verifiedFor is for how long a log that was verified whole is not read again from its beginning.
	verifiedFor = 24 * time.Hour
)

// readVerified returns what the last verification has left; nothing if that is too old, is none of this log, or cannot
// be read.
func (s *store) readVerified(now time.Time) verified {
	content, err := s.readSmallFile(verifiedFile)
	var v verified
	if err != nil || json.Unmarshal(content, &v) != nil || v.From < firstPosition || v.Last < v.From || v.To <= v.Last {
		return verified{}
	}
	// A log whose end was lost may have other events at the same positions since.
	value, found, err := s.get(eventKey(v.Last))
	if err != nil || !found || v.Last+uint64(len(value)) != v.To || record(value).check() != nil ||
		record(value).id() != v.LastID {
		return verified{}
	}
	if !v.Complete.IsZero() && now.Sub(v.Complete).Abs() > verifiedFor {
		return verified{}
	}
	return v
}

// writeVerified replaces the note. It does not go through the disk's guard: the log does not depend on it.
func (s *store) writeVerified(v verified) error {
	if s.disk.isCut() || v.To == v.From {
		return nil
	}
	value, found, err := s.get(eventKey(v.Last))
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%w: none at position %d", errRecord, v.Last)
	}
	v.LastID = record(value).id()
	content, err := json.Marshal(v)
	if err != nil {
		return err
	}
	fs, path := s.disk.FS, s.disk.PathJoin(s.disk.dir, verifiedFile)
	file, err := fs.Create(path+".new", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return fs.Rename(path+".new", path)
}

func (s *store) readSmallFile(name string) ([]byte, error) {
	file, err := s.disk.FS.Open(s.disk.PathJoin(s.disk.dir, name))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, 1<<10))
	return content, errors.Join(err, file.Close())
}
