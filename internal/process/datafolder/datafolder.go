// Package datafolder manages the folder in which a recitald keeps its own data: it locks the folder, so that no two
// processes use it, creates files once, and stores secrets that only their owner can read.
package datafolder

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/recital-tts/recital/internal/process/release"
)

// Folder is a data folder that this process has locked.
type Folder struct {
	dir  string // absolute
	lock *os.File
}

// Open locks the folder, which it creates and marks if it is new, and removes unfinished files of killed starts. A
// folder of an unreleased build or of another format is refused and not changed. Other users can traverse the folder,
// because the user of the private Postgres has its data below it. Every secret in it has a mode of its own.
func Open(dir string) (*Folder, error) {
	return open(dir, CheckFormat, (*Folder).checkRestored, (*Folder).removeUnfinished, (*Folder).markFormat)
}

// open locks a folder that passes a check, which it creates if it is missing, and takes steps in it.
func open(dir string, check func(dir string) error, steps ...func(*Folder) error) (*Folder, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("finding the data folder: %w", err)
	}
	if err := check(absolute); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(absolute, 0o711); err != nil {
		return nil, fmt.Errorf("making the data folder: %w", err)
	}
	f := &Folder{dir: absolute}
	if f.lock, err = lock(f.Path(lockName), absolute); err != nil {
		return nil, err
	}
	for _, step := range steps {
		if err := step(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// Dir returns the absolute path of the folder.
func (f *Folder) Dir() string { return f.dir }

// Path joins elements to the path of the folder.
func (f *Folder) Path(elements ...string) string {
	return filepath.Join(append([]string{f.dir}, elements...)...)
}

// Close unlocks the folder. Closing the file would not suffice while a forked child, before its exec, also has it open.
func (f *Folder) Close() error {
	return errors.Join(syscall.Flock(int(f.lock.Fd()), syscall.LOCK_UN), f.lock.Close())
}

// formatName is the file that marks a data folder. A start or a restore writes it before any data.
const formatName = "format.json"

// mark is the content of the file.
type mark struct {
	Format string `json:"format"`
}

// CheckFormat returns an error if a folder comes from an unreleased build or has another format. It writes nothing.
func CheckFormat(dir string) error {
	used := isUsed(dir) // before the mark is read, because another start writes the mark first
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

// isUsed reports whether a folder has been used by a recitald. A folder with only secrets and mount points is new: an
// operator may have prepared it.
func isUsed(dir string) bool {
	for _, name := range []string{"eventnode/LOCK", "postgres/data/PG_VERSION", addressesName} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// markFormat writes the mark, unless it exists.
func (f *Folder) markFormat() error {
	_, err := f.FileOnce(formatName, func() (string, error) {
		content, err := json.Marshal(mark{Format: release.Format})
		return string(content), err
	})
	return err
}

const (
	// lockWait is the time that a start waits for the lock. The lock of a killed process is released when the system has
	// freed its memory, which may take a while.
	lockWait  = 3 * time.Second
	lockRetry = 20 * time.Millisecond
)

// lock takes a lock that the system releases at the end of the process, however it ends.
func lock(path, dir string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the data folder: %w", err)
	}
	for until := time.Now().Add(lockWait); ; time.Sleep(lockRetry) {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || time.Now().After(until) {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("another recitald works in %s; stop it, or give this one a folder of its own with --data-dir", dir)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// unfinished is the pattern of names of unfinished files.
const unfinished = ".new-*"

// FileOnce returns the content of a file of mode 0600, which it creates if it is missing. The file is written under a
// temporary name, flushed and then linked, so that it is complete or absent, and the first of two starts wins.
func (f *Folder) FileOnce(name string, content func() (string, error)) (string, error) {
	path := f.Path(name)
	existing, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(existing)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	text, err := content()
	if err != nil {
		return "", fmt.Errorf("making %s: %w", name, err)
	}
	err = f.written([]byte(text+"\n"), func(temporary string) error {
		if err := os.Link(temporary, path); err != nil {
			return err
		}
		return Sync(f.dir)
	})
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("writing %s: %w", name, err)
	}
	final, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	return strings.TrimSpace(string(final)), nil
}

// written writes a temporary file, and calls place to give it its name.
func (f *Folder) written(content []byte, place func(temporary string) error) error {
	temporary, err := os.CreateTemp(f.dir, unfinished) // 0600
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(content)
	if err := errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	return place(temporary.Name())
}

// removeUnfinished removes unfinished files of killed starts.
func (f *Folder) removeUnfinished() error {
	left, err := filepath.Glob(f.Path(unfinished))
	if err != nil {
		return err
	}
	for _, path := range left {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("removing an unfinished file: %w", err)
		}
	}
	return nil
}

// secretSize is the size of keys and generated secrets, in bytes.
const secretSize = 32

// Key returns the key in the configured file, or else in the data folder, in both as hex digits.
func (f *Folder) Key(name, configured string) ([]byte, error) {
	text, path, err := f.Secret(name, configured)
	if err != nil {
		return nil, err
	}
	return parseKey(text, path)
}

// ReadKey returns the key in a file of hex digits. The name identifies the key in errors.
func ReadKey(name, path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the %s: %w", name, err)
	}
	return parseKey(string(content), path)
}

func parseKey(text, path string) ([]byte, error) {
	key, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != secretSize { // the error of hex quotes its input
		return nil, fmt.Errorf("%s holds no key: %d hex digits are needed, such as those that openssl rand -hex %d prints",
			path, 2*secretSize, secretSize)
	}
	return key, nil
}

// Secret returns the text of the configured file, which is never written, or else of a file of the data folder, which
// is generated at the first start. It also returns the file's path.
func (f *Folder) Secret(name, configured string) (text, path string, err error) {
	if configured == "" {
		text, err = f.FileOnce(name, drawSecret)
		return text, f.Path(name), err
	}
	content, err := os.ReadFile(configured)
	if err != nil {
		return "", "", fmt.Errorf("reading the %s: %w", name, err)
	}
	return string(content), configured, nil
}

func drawSecret() (string, error) {
	key := make([]byte, secretSize)
	if _, err := rand.Read(key); err != nil {
		return "", err
	}
	return hex.EncodeToString(key), nil
}
