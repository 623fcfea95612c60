package datafolder

import "syscall"

// ShareLock duplicates the descriptor of the lock, as a child does that is not yet at its exec, and returns what closes
// the duplicate.
func (f *Folder) ShareLock() (func() error, error) {
	duplicate, err := syscall.Dup(int(f.lock.Fd()))
	return func() error { return syscall.Close(duplicate) }, err
}
