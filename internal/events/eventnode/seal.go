package eventnode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// sealName is the name of the file that seals a log.
const sealName = "moved"

// ErrSealed means that a log was moved to another event store, where it has its future.
var ErrSealed = errors.New("the log of the embedded node was moved to another event store")

// Seal marks the log of a folder as moved to another event store. The node itself serves it all the same: recitald asks
// for the seal before it starts one.
func Seal(dir string) error {
	const text = "recitalctl log migrate --offline has moved this log to another event store.\n"
	if err := os.WriteFile(filepath.Join(dir, sealName), []byte(text), 0o600); err != nil {
		return fmt.Errorf("sealing the log: %w", err)
	}
	return nil
}

// RequireUnsealed returns ErrSealed for the log of a folder that was moved.
func RequireUnsealed(dir string) error {
	_, err := os.Stat(filepath.Join(dir, sealName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(ErrSealed, err)
}

// Unseal takes the seal of a folder's log away.
func Unseal(dir string) error {
	err := os.Remove(filepath.Join(dir, sealName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unsealing the log: %w", err)
	}
	return nil
}
