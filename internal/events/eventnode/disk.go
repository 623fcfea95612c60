package eventnode

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// SpaceReserve is the disk space in bytes that appends leave free. Pebble needs it to move appended data from its log
// files into tables.
const SpaceReserve = 4 * memTableSize

const (
	// spaceForOpening is the space in bytes that is needed to open the store.
	spaceForOpening = SpaceReserve / 2
	// spacePause is the pause before retrying a write that found no space.
	spacePause = 100 * time.Millisecond
	// spacePatience is the duration of a write's waiting after which appends are refused because the disk is full.
	spacePatience = 500 * time.Millisecond
	// walSize is the size of the space that Pebble reserves for a new log file (110 % of a memtable).
	walSize = memTableSize + memTableSize/10
	// walFiles is the category of Pebble's log files.
	walFiles vfs.DiskWriteCategory = "pebble-wal"
)

// disk is the file system of the store. Pebble cannot continue after a failed write: it expects the process to exit,
// and a failure while it switches log files crashes the process. So a write that finds no space waits here until there
// is some. Readers continue meanwhile. Any other failure is reported to the node but not to Pebble: from then on all
// writes are dropped, as in a power cut, and the store can only be closed.
type disk struct {
	vfs.FS
	dir     string
	reserve uint64
	short   bool // the last result of hasRoom was false
	logger  *slog.Logger
	failed  func(error)

	leaving   chan struct{}
	leaveOnce sync.Once
	cut       atomic.Bool // all writes are dropped
	lost      vfs.FS      // has the files that are created after the cut

	mu      sync.Mutex
	failure error         // the first failure
	waiting int           // number of writes that have waited longer than spacePatience
	full    chan struct{} // closed while waiting is positive
}

// newDisk returns a disk that calls failed after a failed write.
func newDisk(fs vfs.FS, dir string, logger *slog.Logger, failed func(error)) *disk {
	return &disk{
		FS: fs, dir: dir, reserve: SpaceReserve, logger: logger, failed: failed,
		leaving: make(chan struct{}), lost: vfs.NewMem(), full: make(chan struct{}),
	}
}

// available returns the free space in bytes. ok is false if the file system does not report it.
func (d *disk) available() (free uint64, ok bool) {
	usage, err := d.GetDiskUsage(d.dir)
	return usage.AvailBytes, err == nil
}

// hasRoom reports whether there is more free space than the reserve. Only the committer calls it.
func (d *disk) hasRoom() bool {
	free, ok := d.available()
	short := ok && free < d.reserve
	switch {
	case short && !d.short:
		d.logger.Error("event node: the disk is nearly full; appends are refused until there is space",
			"free_bytes", free, "reserve_bytes", d.reserve)
	case !short && d.short:
		d.logger.Info("event node: the disk has space again; appends are accepted", "free_bytes", free)
	}
	d.short = short
	return !short
}

// stalled returns a channel that is closed while writes wait for space.
func (d *disk) stalled() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.full
}

// leave ends the waiting of writes. If one finds no space, it and all later writes are dropped, as in a power cut. The
// store can then only be closed. When it is opened again, it contains all acknowledged events.
func (d *disk) leave() { d.leaveOnce.Do(func() { close(d.leaving) }) }

// isCut reports whether writes are dropped.
func (d *disk) isCut() bool { return d.cut.Load() }

// write executes an operation that may need space. It has no effect after the cut.
func (d *disk) write(operation func() error) error {
	if d.isCut() {
		return nil
	}
	err := operation()
	if !isFull(err) {
		return err
	}
	return d.await(operation, err)
}

// must executes a write whose failure Pebble would not survive.
func (d *disk) must(operation func() error) {
	err := d.write(operation)
	if err == nil {
		return
	}
	d.cut.Store(true)
	d.mu.Lock()
	if d.failure == nil {
		d.failure = fmt.Errorf("writing the event store: %w", err)
	}
	d.mu.Unlock()
	d.failed(d.err())
}

// err returns the failure that caused the cut, or nil.
func (d *disk) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failure
}

// await repeats an operation until it finds space.
func (d *disk) await(operation func() error, err error) error {
	d.logger.Error("event node: the disk is full; a write waits for space", "error", err)
	stall := time.AfterFunc(spacePatience, d.beginStall)
	defer func() {
		if !stall.Stop() {
			d.endStall()
		}
	}()
	for isFull(err) {
		select {
		case <-time.After(spacePause):
		case <-d.leaving:
			d.logger.Warn("event node: the disk is full while closing; unconfirmed events are dropped")
			d.cut.Store(true)
		}
		if d.isCut() {
			return nil
		}
		err = operation()
	}
	d.logger.Info("event node: the disk has space again")
	return err
}

func (d *disk) beginStall() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting++; d.waiting == 1 {
		close(d.full)
	}
}

func (d *disk) endStall() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting--; d.waiting == 0 {
		d.full = make(chan struct{})
	}
}

// isFull reports whether an operation failed for lack of space.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// file returns a file that was opened for writing.
func (d *disk) file(open func() (vfs.File, error), name string) (vfs.File, error) {
	var opened vfs.File
	d.must(func() error {
		f, err := open()
		if err == nil {
			opened = f
		}
		return err
	})
	if opened == nil { // after the cut
		return d.lost.Create(d.lost.PathBase(name), vfs.WriteCategoryUnspecified)
	}
	return &diskFile{File: opened, disk: d}, nil
}

// Create extends a new log file to its full length. Pebble reserves the space anyway, and on ext4 syncing a file with a
// constant length is a third cheaper, because its inode is not written.
func (d *disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.file(func() (vfs.File, error) { return d.FS.Create(name, category) }, name)
	if err == nil && category == walFiles && f.Fd() != vfs.InvalidFd {
		_ = os.Truncate(name, walSize) // if it fails, syncing is slower
	}
	return f, err
}

func (d *disk) OpenReadWrite(name string, category vfs.DiskWriteCategory, options ...vfs.OpenOption) (vfs.File, error) {
	f, err := d.FS.OpenReadWrite(name, category, options...)
	if err != nil {
		return nil, err
	}
	return &diskFile{File: f, disk: d}, nil
}

func (d *disk) OpenDir(name string) (vfs.File, error) {
	f, err := d.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &diskFile{File: f, disk: d}, nil
}

// Open also finds files that were created after the cut, which Pebble may read until it is closed.
func (d *disk) Open(name string, options ...vfs.OpenOption) (vfs.File, error) {
	if d.isCut() {
		if f, err := d.lost.Open(d.lost.PathBase(name), options...); err == nil {
			return f, nil
		}
	}
	return d.FS.Open(name, options...)
}

func (d *disk) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return d.file(func() (vfs.File, error) { return d.FS.ReuseForWrite(oldname, newname, category) }, newname)
}

func (d *disk) Link(oldname, newname string) error {
	return d.write(func() error { return d.FS.Link(oldname, newname) })
}

func (d *disk) Rename(oldname, newname string) error {
	return d.write(func() error { return d.FS.Rename(oldname, newname) })
}

func (d *disk) MkdirAll(dir string, perm os.FileMode) error {
	return d.write(func() error { return d.FS.MkdirAll(dir, perm) })
}

func (d *disk) Remove(name string) error {
	return d.write(func() error { return d.FS.Remove(name) })
}

func (d *disk) RemoveAll(name string) error {
	return d.write(func() error { return d.FS.RemoveAll(name) })
}

func (d *disk) Unwrap() vfs.FS { return d.FS }

// diskFile is a file of a disk. A failed sync is not repeated, because the system may already have discarded the
// unwritten data.
type diskFile struct {
	vfs.File
	disk *disk
}

func (f *diskFile) Write(p []byte) (int, error) {
	written := 0
	f.disk.must(func() error {
		n, err := f.File.Write(p[written:])
		written += n
		return err
	})
	return len(p), nil // also after the cut
}

func (f *diskFile) WriteAt(p []byte, offset int64) (int, error) {
	f.disk.must(func() error {
		_, err := f.File.WriteAt(p, offset)
		return err
	})
	return len(p), nil
}

func (f *diskFile) Sync() error {
	f.disk.must(f.File.Sync)
	return nil
}

func (f *diskFile) SyncData() error {
	f.disk.must(f.File.SyncData)
	return nil
}

func (f *diskFile) SyncTo(length int64) (fullSync bool, err error) {
	f.disk.must(func() (err error) {
		fullSync, err = f.File.SyncTo(length)
		return err
	})
	return fullSync, nil
}

// sealName is the name of the file that seals a log.
const sealName = "moved"

// ErrSealed means that a log was moved to another event store, which must be used instead.
var ErrSealed = errors.New("the log of the embedded node was moved to another event store")

// Seal marks the log in a folder as moved to another event store. The node itself ignores the seal. recitald calls
// RequireUnsealed before it starts a node.
func Seal(dir string) error {
	const text = "recitalctl log migrate --offline has moved this log to another event store.\n"
	if err := os.WriteFile(filepath.Join(dir, sealName), []byte(text), 0o600); err != nil {
		return fmt.Errorf("sealing the log: %w", err)
	}
	return nil
}

// RequireUnsealed returns ErrSealed if the log in a folder was moved.
func RequireUnsealed(dir string) error {
	_, err := os.Stat(filepath.Join(dir, sealName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(ErrSealed, err)
}

// Unseal removes the seal of a folder's log.
func Unseal(dir string) error {
	err := os.Remove(filepath.Join(dir, sealName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unsealing the log: %w", err)
	}
	return nil
}
