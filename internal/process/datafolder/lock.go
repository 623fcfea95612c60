package datafolder

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const (
	// lockWait is how long a start waits for the lock: that of a process that was killed is released when the system
	// has torn it down, which takes longer the more memory it had.
	lockWait  = 3 * time.Second
	lockRetry = 20 * time.Millisecond
)

// lock takes a lock that the system releases when the process ends, in whatever way.
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
