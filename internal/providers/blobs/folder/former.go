package folder

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/recital-tts/recital/internal/providers/blobs"
)

// formerShard matches the folders of earlier releases: the first two digits of the names of their blobs.
var formerShard = regexp.MustCompile(`^[0-9a-f]{2}$`)

// adoptFormer moves blobs from where earlier releases stored them. Other instances that open the folder at the same
// time do the same; a crash leaves each blob in one of the places, and the next start continues.
func (s *Store) adoptFormer() error {
	return eachFolder(context.Background(), s.dir, func(path string) error {
		if !formerShard.MatchString(filepath.Base(path)) {
			return nil
		}
		if err := eachEntry(context.Background(), path, func(entry fs.DirEntry) error { return s.adopt(path, entry.Name()) }); err != nil {
			return err
		}
		_ = os.Remove(path) // fails if other files are in it
		return nil
	})
}

func (s *Store) adopt(folder, name string) error {
	address := blobs.Address(name)
	if address.Check() != nil || address.Name()[:2] != filepath.Base(folder) {
		return nil
	}
	target := s.path(address)
	if err := makeShard(filepath.Dir(target)); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(folder, name), target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncFolder(filepath.Dir(target))
}
