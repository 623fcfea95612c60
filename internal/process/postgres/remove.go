package postgres

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// RemoveCluster removes the cluster of a data folder for good, wherever it is, and stops the server that a killed
// process has left running on it. A cluster that is not there is no error. Errors: [ErrInUse] while a process runs the
// cluster.
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

// stopAbandoned stops a server that runs on a cluster and belongs to nobody.
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
