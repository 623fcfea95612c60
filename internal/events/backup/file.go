package backup

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/klauspost/compress/zstd"

	"github.com/recital-tts/recital/internal/process/datafolder"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

// unfinished is the suffix of unfinished files.
const unfinished = ".unfinished"

// file is an unfinished file. It gets its name when it is complete, on disk, and verified.
type file struct {
	folder *Folder
	name   string
	to     *os.File
	out    *bufio.Writer
	sum    hash.Hash
	size   int64
	done   bool
}

func (f *Folder) create(name string) (*file, error) {
	path := f.path(name)
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return nil, fmt.Errorf("writing %s: %w", name, err)
	}
	to, err := os.OpenFile(path+unfinished, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", name, err)
	}
	return &file{folder: f, name: name, to: to, out: bufio.NewWriterSize(to, 256<<10), sum: sha256.New()}, nil
}

// Write implements io.Writer.
func (w *file) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	w.sum.Write(p[:n])
	w.size += int64(n)
	if err != nil {
		return n, fmt.Errorf("writing %s: %w", w.name, err)
	}
	return n, nil
}

// finish flushes the file, reads it back from the disk, compares, and gives it its name.
func (w *file) finish() (Part, error) {
	part := Part{File: w.name, SHA256: hex.EncodeToString(w.sum.Sum(nil)), Bytes: w.size}
	err := w.out.Flush()
	if err == nil {
		err = w.to.Sync()
	}
	if err == nil {
		err = reread(w.to, part)
	}
	if err == nil {
		err = os.Rename(w.to.Name(), w.folder.path(w.name))
	}
	if err == nil {
		err = datafolder.Sync(filepath.Dir(w.to.Name()))
	}
	if err != nil {
		return part, fmt.Errorf("writing %s: %w", w.name, err)
	}
	w.done = true
	return part, w.to.Close()
}

// packed is an unfinished file with compressed content.
type packed struct {
	*zstd.Encoder
	file *file
}

func (f *Folder) createPacked(name string) (*packed, error) {
	out, err := f.create(name)
	if err != nil {
		return nil, err
	}
	encoder, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1))
	if err != nil {
		out.discard()
		return nil, fmt.Errorf("writing %s: %w", name, err)
	}
	return &packed{encoder, out}, nil
}

// finish flushes the compression and finishes the file.
func (p *packed) finish() (Part, error) {
	if err := p.Close(); err != nil {
		return Part{}, fmt.Errorf("writing %s: %w", p.file.name, err)
	}
	return p.file.finish()
}

// discard removes an unfinished file.
func (p *packed) discard() {
	_ = p.Close() // closing again has no effect
	p.file.discard()
}

// unpacked is the content of a compressed file.
type unpacked struct {
	*zstd.Decoder
	from *os.File
}

// Close implements io.Closer.
func (u unpacked) Close() error { u.Decoder.Close(); return u.from.Close() }

// openFile opens a file of the backup for reading. It refuses all others: opening a FIFO waits for its writer, and a
// device may have no end.
func (f *Folder) openFile(name string) (*os.File, error) {
	file, err := os.OpenFile(f.path(name), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// unpack opens a compressed file. Its memory is bounded, because a backup may come from a stranger.
func (f *Folder) unpack(name string) (io.ReadCloser, error) {
	from, err := f.openFile(name)
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxWindow))
	if err != nil {
		return nil, errors.Join(err, from.Close())
	}
	return unpacked{decoder, from}, nil
}

// maxWindow bounds the memory for reading a compressed file, in bytes.
const maxWindow = 64 << 20

// reread advises the system to read from the disk rather than from its cache.
func reread(file *os.File, part Part) error {
	_ = unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
	return compare(io.NewSectionReader(file, 0, part.Bytes+1), part)
}

// discard removes an unfinished file.
func (w *file) discard() {
	if !w.done {
		_ = w.to.Close()
		_ = os.Remove(w.to.Name())
	}
}

// ErrDamaged means that a file of a backup differs from the written one.
var ErrDamaged = errors.New("is not as it was written")

// compare reads a file and compares it with its description.
func compare(r io.Reader, part Part) error {
	actual, err := measure(r, part.File)
	switch {
	case err != nil:
		return err
	case actual.Bytes < part.Bytes:
		return fmt.Errorf("%w: it has %d bytes instead of %d", ErrDamaged, actual.Bytes, part.Bytes)
	case actual.Bytes > part.Bytes || actual.SHA256 != part.SHA256:
		return fmt.Errorf("%w: its SHA-256 differs", ErrDamaged)
	}
	return nil
}

// check compares a file of the backup with its description. The error names the file.
func (f *Folder) check(part Part) error {
	from, err := f.openFile(part.File)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s %w: it is missing", part.File, ErrDamaged)
	}
	if err != nil {
		return fmt.Errorf("checking %s: %w", part.File, err)
	}
	defer from.Close()
	if err := compare(from, part); err != nil {
		return fmt.Errorf("%s %w", part.File, err)
	}
	return nil
}

// measure describes a complete file.
func measure(from io.Reader, name string) (Part, error) {
	sum := sha256.New()
	size, err := io.CopyBuffer(sum, struct{ io.Reader }{from}, make([]byte, 256<<10))
	return Part{File: name, SHA256: hex.EncodeToString(sum.Sum(nil)), Bytes: size}, err
}

// sortedName is the folder of a store's list, by shards. It is removed after the run.
const sortedName = "listed"

// shards is the number of values of two digits of an address. One shard is in memory at a time.
const shards = 256

// shardName returns the two digits of a shard.
func shardName(n int) string { return fmt.Sprintf("%02x", n) }

func shardOf(address blobs.Address) string { return address.Name()[:2] }

// listing sorts a store's unordered list into shards.
type listing struct {
	folder *Folder
	files  map[string]*os.File
	outs   map[string]*bufio.Writer
	total  Stored
}

// ErrListCut means that a list of blobs ended early.
var ErrListCut = errors.New("the list of blobs was cut off")

// Listed reads the store's list of all blobs: a line of JSON each, and their number at the end.
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

// close returns one error for all files: a cause such as a full disk concerns all of them.
func (l *listing) close() (err error) {
	for shard, file := range l.files {
		err = cmp.Or(err, l.outs[shard].Flush(), file.Close())
	}
	return err
}

// listed returns the store's blobs of a shard.
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
	err = decodeLines(file, func(blob Blob, _ error) bool {
		all = append(all, blob)
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("listing the blobs: %w", err)
	}
	return all, nil
}
