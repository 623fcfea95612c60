package app

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockDataDir makes sure that no two recitalds work in one folder. The system gives the lock back when the process
// ends, however it ends.
func (a *App) lockDataDir() error {
	file, err := os.OpenFile(a.cfg.path("lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("opening the lock of the data folder: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("another recitald works in %s; stop it, or give this one a folder of its own with --data-dir", a.cfg.DataDir)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	a.onClose("the lock of the data folder", file.Close)
	return nil
}
