package datafolder

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	lockName      = "lock"
	addressesName = "addresses"
)

// Addresses are the addresses of a recitald, as HOST:PORT.
type Addresses struct {
	Public string `json:"public"`
	Admin  string `json:"admin"`
}

// Announce stores the addresses in the folder, for Find.
func (f *Folder) Announce(a Addresses) error {
	content, err := json.Marshal(Addresses{Public: reachable(a.Public), Admin: reachable(a.Admin)})
	if err != nil {
		return fmt.Errorf("writing the addresses: %w", err)
	}
	return f.Replace(addressesName, append(content, '\n'))
}

// Replace replaces a file of the folder atomically.
func (f *Folder) Replace(name string, content []byte) error {
	if err := f.written(content, func(temporary string) error { return os.Rename(temporary, f.Path(name)) }); err != nil {
		return fmt.Errorf("writing the file %s: %w", name, err)
	}
	return nil
}

// reachable returns an address for clients on this machine.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

// Find returns the addresses of the recitald that runs in a folder, or empty ones if none does. The addresses of a
// killed recitald may meanwhile belong to another program.
func Find(dir string) Addresses {
	if !isLocked(filepath.Join(dir, lockName)) {
		return Addresses{}
	}
	content, err := os.ReadFile(filepath.Join(dir, addressesName))
	var found Addresses
	if err != nil || json.Unmarshal(content, &found) != nil {
		return Addresses{}
	}
	return found
}

// isLocked reports whether a process holds the lock of a file, according to proc_locks(5). Trying the lock could make a
// concurrent start fail.
func isLocked(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return false
	}
	inode := fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino)
	for line := range strings.Lines(string(locks)) {
		if strings.Contains(line, " FLOCK ") && strings.Contains(line, " WRITE ") && !strings.Contains(line, "->") &&
			strings.Contains(line, inode) {
			return true
		}
	}
	return false
}
