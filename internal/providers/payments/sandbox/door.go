package sandbox

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

const (
	headerTimeout = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	stopTimeout   = 5 * time.Second
)

// door is the sandbox's address, where it listens while it is open.
type door struct {
	handler http.Handler
	logger  *slog.Logger

	mu      sync.Mutex
	address string
	server  *http.Server // nil while it is shut
	again   *time.Timer  // opens it
	closed  bool
}

// newDoor opens a door at an address, or at another port of it if its port is taken.
func newDoor(address string, logger *slog.Logger) (*door, net.Listener, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, nil, err
	}
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		listener, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, nil, err
	}
	return &door{logger: logger, address: listener.Addr().String()}, listener, nil
}

// serve begins to serve connections.
func (d *door) serve(listener net.Listener) {
	server := &http.Server{Handler: d.handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
	d.server = server
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			d.logger.Error("the payment sandbox no longer serves", "error", err)
		}
	}()
}

// shut cuts all connections and refuses others, for some time or, if that is 0, until open is called.
func (d *door) shut(during time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgetAgain()
	var err error
	if d.server != nil {
		err = d.server.Close()
		d.server = nil
	}
	if during > 0 {
		d.again = time.AfterFunc(during, func() {
			if err := d.open(); err != nil {
				d.logger.Error("the payment sandbox cannot listen again", "error", err)
			}
		})
	}
	return err
}

// open listens again.
func (d *door) open() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgetAgain()
	if d.server != nil || d.closed {
		return nil
	}
	listener, err := net.Listen("tcp", d.address)
	if err != nil {
		return err
	}
	d.serve(listener)
	return nil
}

func (d *door) forgetAgain() {
	if d.again != nil {
		d.again.Stop()
	}
}

// close shuts the door for good. Requests have a few seconds to end.
func (d *door) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.forgetAgain()
	if d.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := d.server.Shutdown(ctx); err != nil {
		return d.server.Close()
	}
	return nil
}
