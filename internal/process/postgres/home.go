package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// systemHome holds the clusters that cannot be in their data folder. Only root creates clusters there.
const systemHome = "/var/lib/recital"

// home is the location of a cluster: the folder itself belongs to this process's user, its contents to the server's.
type home struct {
	folder string
	owner  Account
	lock   *os.File // held while a recitald uses the cluster

	socketDir string // chosen by chooseSocket
}

func (h *home) data() string   { return filepath.Join(h.folder, "data") }
func (h *home) socket() string { return filepath.Join(h.folder, "run") }

// openHome finds or creates the home of the cluster of a data folder and locks it.
func openHome(dir string) (*home, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o711); err != nil { // the server's user must be able to traverse it
		return nil, fmt.Errorf("making the folder of the cluster: %w", err)
	}
	h, err := chooseHome(dir)
	if err != nil {
		return nil, err
	}
	if h.lock, err = lockFile(filepath.Join(h.folder, "lock")); err != nil {
		return nil, fmt.Errorf("locking the cluster in %s: %w", h.folder, err)
	}
	return h, nil
}

// chooseHome prefers an existing cluster, then the folder itself, then a folder below /var/lib: started by root, the
// server runs as another user, who cannot traverse a folder such as /root.
func chooseHome(dir string) (*home, error) {
	elsewhere := systemFolder(dir)
	for _, folder := range []string{dir, elsewhere} {
		h, err := existingHome(folder)
		if h != nil || err != nil {
			return h, err
		}
	}
	owner, err := Unprivileged()
	if err != nil {
		return nil, err
	}
	h := &home{folder: dir, owner: owner}
	failure := h.prepare()
	if failure == nil {
		return h, nil
	}
	if !owner.foreign {
		return nil, failure
	}
	_ = os.Remove(h.socket()) // empty and unused
	h.folder = elsewhere
	if err := os.MkdirAll(elsewhere, 0o711); err != nil {
		return nil, errors.Join(failure, err)
	}
	if err := h.prepare(); err != nil {
		return nil, errors.Join(failure, err)
	}
	return h, nil
}

// systemFolder returns the folder for the cluster of a data folder that cannot contain it.
func systemFolder(dir string) string {
	hash := sha256.Sum256([]byte(dir))
	return filepath.Join(systemHome, fmt.Sprintf("%x", hash[:8]))
}

// existingHome returns nil if there is no cluster.
func existingHome(folder string) (*home, error) {
	info, err := os.Stat(filepath.Join(folder, "data"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	owner, err := ownerOf(info)
	if err != nil {
		return nil, fmt.Errorf("using the cluster in %s: %w", folder, err)
	}
	h := &home{folder: folder, owner: owner}
	return h, h.prepare()
}

// prepare creates the folder of the socket, which verifies that the owner can work here.
func (h *home) prepare() error {
	if err := h.owner.Own(h.socket()); err != nil {
		return fmt.Errorf("preparing %s for user %s: %w", h.folder, h.owner.Name, err)
	}
	if !h.owner.CanEnter(h.socket()) {
		return fmt.Errorf("user %s cannot enter %s: one of its parents is closed to others", h.owner.Name, h.folder)
	}
	return nil
}

// major returns the PostgreSQL version of the cluster, or 0 if there is none yet.
func (h *home) major() (int, error) {
	content, err := os.ReadFile(filepath.Join(h.data(), "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the version of the cluster: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0, fmt.Errorf("reading the version of the cluster in %s: %w", h.folder, err)
	}
	return major, nil
}

// ensure creates the cluster if there is none yet and returns the binaries for it.
func (h *home) ensure(ctx context.Context) (Installation, error) {
	major, err := h.major()
	if err != nil {
		return Installation{}, err
	}
	binaries, err := Find(ctx, major)
	if err != nil || major != 0 {
		return binaries, err
	}
	return binaries, binaries.Init(ctx, h.owner, h.data())
}

// ErrInUse means that another process runs the cluster.
var ErrInUse = errors.New("in use by another recitald")

// lockFile takes a lock that ends with this process, even if it is killed. The file contains the process id for
// people.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(file); err != nil {
		holder, _ := os.ReadFile(path)
		return nil, errors.Join(fmt.Errorf("%w (process %s)", err, strings.TrimSpace(string(holder))), file.Close())
	}
	if err := file.Truncate(0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if _, err := file.WriteString(strconv.Itoa(os.Getpid()) + "\n"); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// unlock releases the lock. Closing the file would not suffice while a forked child, before its exec, also has it open.
func (h *home) unlock() error {
	return errors.Join(syscall.Flock(int(h.lock.Fd()), syscall.LOCK_UN), h.lock.Close())
}

func flock(file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrInUse
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
}

// RemoveCluster removes the cluster of a data folder permanently, wherever it is, and stops a server left running on it
// by a killed process. A missing cluster is no error. Errors: [ErrInUse] while a process runs the cluster.
func RemoveCluster(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for _, folder := range []string{dir, systemFolder(dir)} {
		if err := stopAbandoned(folder); err != nil {
			return fmt.Errorf("removing the cluster in %s: %w", folder, err)
		}
		if err := os.RemoveAll(folder); err != nil {
			return fmt.Errorf("removing the cluster: %w", err)
		}
	}
	return nil
}

// stopAbandoned stops a server left running on a cluster by a killed process.
func stopAbandoned(folder string) error {
	h, err := existingHome(folder)
	if err != nil || h == nil {
		return err
	}
	if h.lock, err = lockFile(filepath.Join(folder, "lock")); err != nil {
		return err
	}
	if server := adopt(h); server != nil {
		err = server.stop()
	}
	return errors.Join(err, h.unlock())
}

const (
	socketName = ".s.PGSQL.5432" // PostgreSQL's name for the socket of its default port
	maxSocket  = 107             // bytes of a unix socket's path on Linux (unix(7): sun_path holds 108 with its final NUL)
)

// SocketURL returns the URL of a database of the server that listens in a folder.
func SocketURL(folder, database string) string {
	return (&url.URL{
		Scheme:   "postgres",
		User:     url.User(Superuser),
		Path:     "/" + database,
		RawQuery: url.Values{"host": {folder}}.Encode(),
	}).String()
}

// chooseSocket creates the folder of the socket: the requested one, or a short private one if the socket's path would
// be too long. A cluster always gets the same folder, so that an earlier server is found.
func (h *home) chooseSocket(wanted string) error {
	if wanted == "" {
		wanted = h.socket()
	}
	folder, err := filepath.Abs(wanted)
	if err != nil {
		return err
	}
	if len(filepath.Join(folder, socketName)) > maxSocket {
		folder = h.shortSocketFolder()
	}
	if err := h.owner.Own(folder); err != nil {
		return fmt.Errorf("making the folder of the Postgres socket: %w", err)
	}
	if !h.owner.CanEnter(folder) {
		return fmt.Errorf("user %s cannot enter %s, the folder of the Postgres socket", h.owner.Name, folder)
	}
	h.socketDir = folder
	return nil
}

func (h *home) shortSocketFolder() string {
	hash := sha256.Sum256([]byte(h.data()))
	name := fmt.Sprintf("recital-%d-%x", h.owner.uid, hash[:6])
	folder := filepath.Join(os.TempDir(), name)
	if len(filepath.Join(folder, socketName)) > maxSocket || !h.owner.CanEnter(os.TempDir()) {
		return filepath.Join("/tmp", name)
	}
	return folder
}
