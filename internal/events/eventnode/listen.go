package eventnode

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
)

// maxSocketPath is the maximum length of the path of a unix socket on Linux (sun_path without its final zero).
const maxSocketPath = 107

// listenUnix listens on a socket that only the user may use. The socket of a node that was killed is replaced; that
// of a live one is an error.
func listenUnix(path string) (net.Listener, error) {
	switch {
	case path == "":
		return nil, errors.New("the event node needs a socket path")
	case len(path) > maxSocketPath:
		return nil, fmt.Errorf("the socket path %s has %d bytes; at most %d are allowed: use a shorter folder",
			path, len(path), maxSocketPath)
	}
	if err := removeDeadSocket(path); err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listening on the event node's socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("protecting the event node's socket: %w", err), listener.Close())
	}
	return listener, nil
}

func removeDeadSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at the event node's socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s exists and is no socket", path)
	}
	if conn, err := net.Dial("unix", path); err == nil {
		return errors.Join(fmt.Errorf("another process serves %s", path), conn.Close())
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the socket of an event node that is gone: %w", err)
	}
	return nil
}

// listenLoopback listens on TCP for other clients on this machine. The node has no authentication, so it serves no
// network.
func listenLoopback(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("the event node's address: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("the event node serves loopback addresses only, not %q", host)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening on the event node's address: %w", err)
	}
	return listener, nil
}
