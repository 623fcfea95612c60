package backup

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/recital-tts/recital/internal/providers/blobs"
)

// Blob is a line of the list of blobs.
type Blob struct {
	Address blobs.Address `json:"address"`
	Size    int64         `json:"size"` // bytes
	SHA256  string        `json:"sha256,omitempty"`
	Gone    *time.Time    `json:"gone,omitempty"` // when a run found it missing from the store
}

func (b Blob) part() Part {
	return Part{File: "blobs/" + shardOf(b.Address) + "/" + string(b.Address), SHA256: b.SHA256, Bytes: b.Size}
}

// Fetch opens a blob of the store. Errors: blobs.ErrNotFound.
type Fetch func(address blobs.Address) (io.ReadCloser, error)

// WriteBlobs copies the listed blobs that are not in the backup. A blob that is missing from the store is kept in the
// backup for a while, in case it was lost there, and then removed. after is called with each blob that was examined.
func (r *Run) WriteBlobs(fetch Fetch, keep time.Duration, after func(blob Blob, copied bool)) error {
	out, err := r.folder.createPacked(fmt.Sprintf("blobs/%06d.zst", r.draft.Run))
	if err != nil {
		return err
	}
	defer out.discard()
	former, stop := iter.Pull2(r.folder.Blobs(r.former))
	defer stop()
	s := &sweep{run: r, fetch: fetch, keep: keep, after: after, to: json.NewEncoder(out), former: former}
	for n := range shards {
		if err := s.shard(shardName(n)); err != nil {
			return err
		}
	}
	r.draft.Stored = s.total
	r.draft.Blobs, err = out.finish()
	return err
}

// sweep compares the shards with the former list, both in order.
type sweep struct {
	run    *Run
	fetch  Fetch
	keep   time.Duration
	after  func(Blob, bool)
	to     *json.Encoder
	former func() (Blob, error, bool)
	ahead  *Blob // of the former list, of a later shard
	total  Stored
}

func (s *sweep) shard(name string) error {
	known, err := s.known(name)
	if err != nil {
		return err
	}
	listed, err := s.run.listed(name)
	if err != nil {
		return err
	}
	if err := s.removeLeftovers(name, known, listed); err != nil {
		return err
	}
	for _, blob := range listed {
		if err := s.present(blob, known); err != nil {
			return err
		}
		delete(known, blob.Address)
	}
	for _, blob := range known {
		if err := s.absent(blob); err != nil {
			return err
		}
	}
	return nil
}

// known returns the former list's blobs of a shard.
func (s *sweep) known(shard string) (map[blobs.Address]Blob, error) {
	known := map[blobs.Address]Blob{}
	for {
		if s.ahead == nil {
			blob, err, more := s.former()
			if err != nil || !more {
				return known, err
			}
			s.ahead = &blob
		}
		if shardOf(s.ahead.Address) != shard {
			return known, nil
		}
		known[s.ahead.Address] = *s.ahead
		s.ahead = nil
	}
}

// removeLeftovers removes the unfinished files of a killed run. Finished files are reused by present.
func (s *sweep) removeLeftovers(shard string, known map[blobs.Address]Blob, listed []Blob) error {
	wanted := make(map[blobs.Address]bool, len(listed))
	for _, blob := range listed {
		wanted[blob.Address] = true
	}
	return s.run.folder.clean("blobs/"+shard, func(name string) bool {
		_, had := known[blobs.Address(name)]
		return had || wanted[blobs.Address(name)]
	})
}

// present copies a blob of the store unless the backup has it. Blobs never change.
func (s *sweep) present(blob Blob, known map[blobs.Address]Blob) error {
	if had, ok := known[blob.Address]; ok && had.Size == blob.Size {
		had.Gone = nil
		return s.keepIn(had, false)
	}
	part, err := s.run.folder.store(blob, s.fetch)
	if errors.Is(err, blobs.ErrNotFound) {
		return nil // deleted after it was listed
	}
	if err != nil {
		return err
	}
	blob.SHA256, blob.Size = part.SHA256, part.Bytes
	return s.keepIn(blob, true)
}

func (s *sweep) absent(blob Blob) error {
	if blob.Gone == nil {
		blob.Gone = &s.run.now
	}
	if s.run.now.Sub(*blob.Gone) >= s.keep {
		s.run.gone = append(s.run.gone, blob.part().File)
		return nil
	}
	return s.keepIn(blob, false)
}

func (s *sweep) keepIn(blob Blob, copied bool) error {
	s.total.Blobs++
	s.total.Bytes += blob.Size
	s.after(blob, copied)
	return encodeLine(s.to, blob)
}

// store copies a blob, unless a killed run has already copied it.
func (f *Folder) store(blob Blob, fetch Fetch) (Part, error) {
	name := blob.part().File
	if found, err := f.found(name, blob.Size); err == nil {
		return found, nil
	}
	from, err := fetch(blob.Address)
	if err != nil {
		return Part{}, err
	}
	defer from.Close()
	out, err := f.create(name)
	if err != nil {
		return Part{}, err
	}
	defer out.discard()
	if _, err := io.CopyBuffer(struct{ io.Writer }{out}, from, make([]byte, 256<<10)); err != nil {
		return Part{}, fmt.Errorf("copying a blob: %w", err)
	}
	if out.size != blob.Size {
		return Part{}, fmt.Errorf("copying a blob: %d bytes arrived instead of %d", out.size, blob.Size)
	}
	return out.finish()
}

var errOther = errors.New("the file has another size")

// found describes a file with its final name, which is therefore complete.
func (f *Folder) found(name string, size int64) (Part, error) {
	file, err := f.openFile(name)
	if err != nil {
		return Part{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() != size {
		return Part{}, errors.Join(errOther, err)
	}
	return measure(file, name)
}

// Blobs yields the list of blobs of a backup.
func (f *Folder) Blobs(m Manifest) iter.Seq2[Blob, error] {
	return func(yield func(Blob, error) bool) {
		if m.Blobs.File == "" {
			return
		}
		if err := f.list(m, yield); err != nil {
			yield(Blob{}, fmt.Errorf("%s: %w", m.Blobs.File, err))
		}
	}
}

func (f *Folder) list(m Manifest, yield func(Blob, error) bool) error {
	from, err := f.unpack(m.Blobs.File)
	if err != nil {
		return err
	}
	defer from.Close()
	return decodeLines(from, yield)
}

// decodeLines yields the blobs of a list.
func decodeLines(from io.Reader, yield func(Blob, error) bool) error {
	for lines := json.NewDecoder(bufio.NewReader(from)); ; {
		var blob Blob
		err := lines.Decode(&blob)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = blob.Address.Check() // it becomes a path
		}
		if err != nil || !yield(blob, nil) {
			return err
		}
	}
}

// OpenBlob opens a blob of the backup.
func (f *Folder) OpenBlob(blob Blob) (io.ReadCloser, error) { return f.openFile(blob.part().File) }

// maxNamed is the maximum number of damaged files that an error names.
const maxNamed = 20

// Check reads the whole backup and compares it with its manifest. The error names the damaged files. after is called
// with the number of bytes read.
func (f *Folder) Check(ctx context.Context, m Manifest, after func(bytes int64)) error {
	var damaged []error
	look := func(part Part) {
		if ctx.Err() != nil {
			return
		}
		if err := f.check(part); err != nil && len(damaged) < maxNamed {
			damaged = append(damaged, err)
		}
		after(part.Bytes)
	}
	for _, part := range slices.Concat(m.Log, []Part{m.Keyring, m.Blobs}) {
		look(part)
	}
	if f.check(m.Blobs) == nil {
		for blob, err := range f.Blobs(m) {
			if err != nil {
				damaged = append(damaged, err)
				break
			}
			look(blob.part())
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("checking the backup: %w", ctx.Err())
	}
	return errors.Join(damaged...)
}
