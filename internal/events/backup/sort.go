package backup

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/recital-tts/recital/internal/providers/blobs"
)

// sortedName is the folder of what a store has listed, by shards. It is of no use after the run.
const sortedName = "listed"

// shards are as many as there are values of two digits of an address. One of them is in memory at a time.
const shards = 256

// shardName returns the two digits.
func shardName(n int) string { return fmt.Sprintf("%02x", n) }

func shardOf(address blobs.Address) string { return address.Name()[:2] }

// listing sorts into shards what a store lists in any order.
type listing struct {
	folder *Folder
	files  map[string]*os.File
	outs   map[string]*bufio.Writer
	total  Stored
}

// ErrListCut means that a list of blobs ended early.
var ErrListCut = errors.New("the list of blobs was cut off")

// Listed reads the list of all blobs that the store has: a line of JSON each, and their number at the end.
func (r *Run) Listed(from io.Reader) (total Stored, err error) {
	if err := os.RemoveAll(r.folder.path(sortedName)); err != nil {
		return total, fmt.Errorf("listing the blobs: %w", err)
	}
	if err := os.MkdirAll(r.folder.path(sortedName), folderMode); err != nil {
		return total, fmt.Errorf("listing the blobs: %w", err)
	}
	l := &listing{folder: r.folder, files: map[string]*os.File{}, outs: map[string]*bufio.Writer{}}
	defer func() { err = errors.Join(err, l.close()) }()
	lines := json.NewDecoder(bufio.NewReader(from))
	for {
		var line struct {
			Blob
			Blobs *int `json:"blobs"`
		}
		if err := lines.Decode(&line); err != nil {
			return l.total, fmt.Errorf("%w: %w", ErrListCut, err)
		}
		if line.Blobs != nil {
			if *line.Blobs != l.total.Blobs {
				return l.total, ErrListCut
			}
			return l.total, nil
		}
		if err := l.add(line.Blob); err != nil {
			return l.total, err
		}
	}
}

func (l *listing) add(blob Blob) error {
	if err := blob.Address.Check(); err != nil { // it becomes a path
		return fmt.Errorf("listing the blobs: %w", err)
	}
	shard := shardOf(blob.Address)
	if l.files[shard] == nil {
		file, err := os.OpenFile(l.folder.path(sortedName+"/"+shard), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return fmt.Errorf("listing the blobs: %w", err)
		}
		l.files[shard], l.outs[shard] = file, bufio.NewWriter(file)
	}
	l.total.Blobs++
	l.total.Bytes += blob.Size
	return encodeLine(json.NewEncoder(l.outs[shard]), Blob{Address: blob.Address, Size: blob.Size})
}

// close returns one error for all files: what fails one, such as a full disk, fails the others.
func (l *listing) close() (err error) {
	for shard, file := range l.files {
		err = cmp.Or(err, l.outs[shard].Flush(), file.Close())
	}
	return err
}

// listed returns what the store has in a shard.
func (r *Run) listed(shard string) ([]Blob, error) {
	file, err := os.Open(r.folder.path(sortedName + "/" + shard))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the blobs: %w", err)
	}
	defer file.Close()
	var all []Blob
	for lines := json.NewDecoder(bufio.NewReader(file)); ; {
		var blob Blob
		err := lines.Decode(&blob)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("listing the blobs: %w", err)
		}
		all = append(all, blob)
	}
}
