package datafolder

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock takes a lock that the system releases when the process ends, in whatever way.
func lock(path, dir string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the data folder: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("another recitald works in %s; stop it, or give this one a folder of its own with --data-dir", dir)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
