package postgres

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

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
// be too long. The same cluster gets the same folder each time, so that a server left behind is found.
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
