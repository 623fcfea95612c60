package datafolder

import "syscall"

// ShareLock duplicates the descriptor of the lock, like a child before its exec, and returns a function that closes the
// duplicate.
func (f *Folder) ShareLock() (func() error, error) {
	duplicate, err := syscall.Dup(int(f.lock.Fd()))
	return func() error { return syscall.Close(duplicate) }, err
}
