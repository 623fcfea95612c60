// Package eventnode implements the embedded event node: the gRPC protocol of EventStoreDB 24.6 (Streams and
// ServerFeatures) on a log in Pebble. A single process can thus use the official client without a server.
//
// Every append is durable before it is acknowledged or visible to readers. While the disk is full, appends are refused.
// Any other disk failure stops the node. A log with damage before its end is not served.
package eventnode

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// Config configures a node.
type Config struct {
	Dir     string                   // data folder, created with mode 0700
	Socket  string                   // path of the unix socket, at most 107 bytes; created with mode 0600
	Address string                   // additional loopback TCP address; none if empty
	Logger  *slog.Logger             // nil means slog.Default
	Synced  func(took time.Duration) // called after each write of events to disk; must not block; may be nil
}

const (
	// clientPing is the shortest permitted interval of keepalive pings. The official client pings every 10 s, even without
	// calls, and gRPC's default policy would disconnect it.
	clientPing = 250 * time.Millisecond
	// maxMessage is the maximum size of a message, as in EventStoreDB and its client.
	maxMessage = 17 << 20
	// maxCalls limits the calls of a connection, and thereby memory. The client delays further calls.
	maxCalls = 1000
	// verifyPatience limits the time that Open waits for the verification of a short log, or of the first part of a long
	// one.
	verifyPatience = time.Second
	// shortLog is the maximum size in bytes of a short log: a few tens of thousands of events.
	shortLog = 32 << 20
	// closeGrace is the time that Close gives calls to end.
	closeGrace = time.Second
)

// Node is a running event node.
type Node struct {
	logger    *slog.Logger
	store     *store
	committer *committer

	verification *verification

	server *grpc.Server
	tcp    net.Listener

	running sync.WaitGroup
	closing chan struct{} // closed when Close starts: calls end and new ones are refused
	stop    chan struct{} // closed after the last call: the committer stops

	done    chan struct{}
	endOnce sync.Once
	err     error // the reason why done was closed; set before

	close func() error // closes the node once
}

// Open opens the log and serves it. The node is ready when Open returns.
func Open(cfg Config) (*Node, error) { return open(cfg, vfs.Default, verifyPatience) }

// open is Open with a file system, and with a limit on the wait for the verification.
func open(cfg Config, fs vfs.FS, verify time.Duration) (*Node, error) {
	n := &Node{
		logger:  cfg.Logger,
		closing: make(chan struct{}),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
	}
	n.close = sync.OnceValue(n.shutDown)
	if n.logger == nil {
		n.logger = slog.Default()
	}
	listeners, err := n.listen(cfg)
	if err != nil {
		return nil, err
	}
	if err := n.openLog(fs, cfg.Dir, verify, cfg.Synced); err != nil {
		return nil, errors.Join(err, closeAll(listeners))
	}
	n.serve(listeners)
	return n, nil
}

func (n *Node) listen(cfg Config) ([]net.Listener, error) {
	unix, err := listenUnix(cfg.Socket)
	if err != nil {
		return nil, err
	}
	if cfg.Address == "" {
		return []net.Listener{unix}, nil
	}
	if n.tcp, err = listenLoopback(cfg.Address); err != nil {
		return nil, errors.Join(err, unix.Close())
	}
	return []net.Listener{unix, n.tcp}, nil
}

func (n *Node) openLog(fs vfs.FS, dir string, verify time.Duration, synced func(time.Duration)) error {
	if dir == "" {
		return errors.New("the event node needs a data folder")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the event node's data folder: %w", err)
	}
	var err error
	if n.store, err = openStore(fs, dir, n.logger, n.end); err != nil {
		return err
	}
	if n.committer, err = newCommitter(n.store); err != nil {
		return errors.Join(err, n.store.close())
	}
	n.committer.synced = synced
	if err := n.verifyLog(verify); err != nil {
		return errors.Join(err, n.store.close())
	}
	return nil
}

// verifyLog verifies the log in the background. Damage that is found after verifyLog has returned stops the node. It
// waits briefly for the result of a short log, which is read completely at each start. With a long log, it only waits
// for the first part, the newest events that are not yet verified, so that the length of the log does not delay the
// start.
func (n *Node) verifyLog(patience time.Duration) error {
	short := n.committer.last <= shortLog
	var err error
	if n.verification, err = newVerification(n.store, short); err != nil {
		return err
	}
	verified, begun, served := make(chan error, 1), make(chan struct{}), make(chan struct{})
	n.running.Go(func() { verified <- n.verification.run(n.logger, begun, n.closing, served) })
	enough := begun
	if short {
		enough = nil
	}
	select {
	case err := <-verified:
		return err
	case <-enough:
	case <-time.After(patience):
	}
	close(served)
	n.running.Go(func() {
		if err := <-verified; err != nil {
			n.logger.Error("event node: the log is damaged", "error", err)
			n.end(err)
		}
	})
	return nil
}

func (n *Node) serve(listeners []net.Listener) {
	n.server = grpc.NewServer(
		grpc.ForceServerCodecV2(newFrameCodec()),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxConcurrentStreams(maxCalls),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: clientPing, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
	)
	streams.RegisterStreamsServer(n.server, &streamsService{node: n})
	serverfeatures.RegisterServerFeaturesServer(n.server, featuresService{})

	n.running.Go(func() {
		if err := n.committer.run(n.stop); err != nil {
			n.end(err)
		}
	})
	for _, listener := range listeners {
		n.running.Go(func() {
			if err := n.server.Serve(listener); err != nil {
				n.end(fmt.Errorf("serving the event node: %w", err))
			}
		})
	}
}

// Addr returns the TCP address, or nil if there is none.
func (n *Node) Addr() net.Addr {
	if n.tcp == nil {
		return nil
	}
	return n.tcp.Addr()
}

// Done returns a channel that is closed when the node can no longer serve, because the store failed (see Err) or the
// node was closed.
func (n *Node) Done() <-chan struct{} { return n.done }

// Err returns the reason why Done was closed. It is nil after Close, and while Done is open.
func (n *Node) Err() error {
	select {
	case <-n.done:
		return n.err
	default:
		return nil
	}
}

// Stats has measurements of a node.
type Stats struct {
	LogBytes  uint64 // position of the last event: about the size of all events before compression
	DiskBytes uint64 // size of the files
	Verified  uint64 // verified bytes of events; ToVerify when the verification is complete
	ToVerify  uint64 // bytes of events at the start
	FreeBytes uint64 // free disk space; 0 if the file system does not report it
}

// Stats returns the current measurements. It must not be called after Close.
func (n *Node) Stats() Stats {
	end, _ := n.committer.head.get()
	free, _ := n.store.disk.available()
	return Stats{
		LogBytes: end, DiskBytes: n.store.db.Metrics().DiskSpaceUsage(), FreeBytes: free,
		Verified: n.verification.size.Load(), ToVerify: n.verification.end - firstPosition,
	}
}

// end marks the node as done. Only the first call has an effect.
func (n *Node) end(err error) {
	n.endOnce.Do(func() {
		n.err = err
		close(n.done)
	})
}

// Close ends all calls, commits the accepted appends, and closes the log. It waits for all goroutines.
func (n *Node) Close() error { return n.close() }

func (n *Node) shutDown() error {
	close(n.closing)
	n.stopServer()
	n.store.disk.leave()
	close(n.stop)
	err := n.closeStore()
	n.end(nil)
	return err
}

// closeStore waits for the goroutines and closes the log. If the store failed, it only waits briefly, because a
// goroutine may be stuck in Pebble.
func (n *Node) closeStore() error {
	closed := make(chan error, 1)
	go func() {
		n.running.Wait()
		closed <- n.releaseStore()
	}()
	select {
	case err := <-closed:
		return err
	case <-n.done:
	}
	select {
	case err := <-closed:
		return err
	case <-time.After(closeGrace):
		n.logger.Warn("event node: the failed event store does not close")
		return nil
	}
}

// releaseStore closes the log. After a fatal error, which Err returns, Pebble may panic when it is closed.
func (n *Node) releaseStore() error {
	if n.Err() == nil {
		return n.store.close()
	}
	defer func() { _ = recover() }()
	if err := n.store.close(); err != nil {
		n.logger.Warn("event node: closing the failed event store", "error", err)
	}
	return nil
}

// stopServer waits until appends are answered and subscriptions are notified. A client that does not read is
// disconnected.
func (n *Node) stopServer() {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		n.server.GracefulStop()
	}()
	select {
	case <-stopped:
	case <-time.After(closeGrace):
		n.server.Stop()
		<-stopped
	}
}

func closeAll(listeners []net.Listener) error {
	var errs []error
	for _, listener := range listeners {
		errs = append(errs, listener.Close())
	}
	return errors.Join(errs...)
}
