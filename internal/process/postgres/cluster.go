package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/process/pause"
	"github.com/recital-tts/recital/internal/process/supervise"
)

const (
	startPatience = 20 * time.Second // the processes of a killed server need a while to notice and exit
	startPause    = 250 * time.Millisecond
	readyPause    = 20 * time.Millisecond
	readyAttempt  = 5 * time.Second
)

// restarting is the policy for restarting a server that failed to start.
var restarting = supervise.Policy{FirstDelay: startPause, LongestDelay: time.Second}

// ClusterConfig configures a private cluster.
type ClusterConfig struct {
	Dir       string // created if missing; the cluster is elsewhere if its user cannot enter it (logged)
	SocketDir string // optional, created if missing; default: a folder of the cluster
	Logger    *slog.Logger
}

// Cluster is a private PostgreSQL server that can only be reached through the unix socket in its 0700 folder. It is
// restarted when it dies.
type Cluster struct {
	home     *home
	binaries Installation
	settings []string
	logger   *slog.Logger

	stop       context.CancelFunc
	supervised chan struct{}
	closeOnce  sync.Once
	closed     error // of the last server's end; owned by the supervisor until supervised is closed
}

// StartCluster starts the server on the existing data, or on a new cluster, and returns when it answers. The context
// bounds only the start. It takes over a server left running by a killed recitald.
//
// Errors: [ErrNotInstalled] without binaries, [ErrInUse] while another recitald runs the cluster.
func StartCluster(ctx context.Context, config ClusterConfig) (*Cluster, error) {
	h, err := openHome(config.Dir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{home: h, logger: config.Logger, supervised: make(chan struct{})}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	first, err := c.open(ctx, config)
	if err != nil {
		stop()
		return nil, errors.Join(err, h.unlock())
	}
	go c.supervise(life, first)
	return c, nil
}

func (c *Cluster) open(ctx context.Context, config ClusterConfig) (*server, error) {
	var err error
	if c.binaries, err = c.home.ensure(ctx); err != nil {
		return nil, err
	}
	if err := c.home.chooseSocket(config.SocketDir); err != nil {
		return nil, err
	}
	c.settings = Settings(c.home.data(), c.home.socketDir)
	server, err := c.start(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.createDatabase(ctx); err != nil {
		return nil, errors.Join(err, server.stop())
	}
	c.reportPlace(config.Dir, server)
	return server, nil
}

func (c *Cluster) reportPlace(dir string, server *server) {
	if absolute, err := filepath.Abs(dir); err == nil && absolute != c.home.folder {
		c.logger.Info("the Postgres cluster lives outside of the data folder, whose parents are closed to its user",
			"user", c.home.owner.Name, "data folder", absolute, "cluster", c.home.folder)
	}
	c.logger.Info("Postgres is ready", "version", c.binaries.Major, "user", c.home.owner.Name,
		"cluster", c.home.folder, "pid", server.process.Pid)
}

// URL returns the URL of the database.
func (c *Cluster) URL() string { return SocketURL(c.home.socketDir, Database) }

// Close stops the server with all data on disk, and kills it if that takes too long. It may be called again.
func (c *Cluster) Close() error {
	c.closeOnce.Do(func() {
		c.stop()
		<-c.supervised
		c.closed = errors.Join(c.closed, c.home.unlock())
	})
	return c.closed
}

// supervise keeps the server, and its successors, running until life ends.
func (c *Cluster) supervise(life context.Context, first *server) {
	defer close(c.supervised)
	supervise.Child[*server]{
		Name: "Postgres", Start: c.restart, Serve: c.watch, Policy: restarting, Logger: c.logger,
	}.Keep(life, first)
}

func (c *Cluster) restart(ctx context.Context) (*server, error) {
	server, err := c.startOnce(ctx)
	if err != nil {
		return nil, err
	}
	c.logger.Info("Postgres is back", "pid", server.process.Pid)
	return server, nil
}

// watch waits until the server dies. It ends a server that no longer answers, and stops it when life ends. A server
// that has answered was useful, so the next one is started immediately.
func (c *Cluster) watch(life context.Context, server *server) (useful bool, err error) {
	probing, stop := context.WithCancel(life)
	silent := make(chan error, 1)
	go func() { silent <- c.awaitSilence(probing, server) }()
	select {
	case <-server.exited:
		stop()
		<-silent
		return true, fmt.Errorf("the server died; it said last: %s", server.said())
	case err = <-silent:
		stop()
	}
	if life.Err() != nil {
		c.closed = server.stop()
		return true, c.closed
	}
	return true, errors.Join(fmt.Errorf("the server does not answer: %w", err), server.end(err))
}

// start starts the first server. It waits for the remaining processes of a killed recitald, and for recovery after a
// crash until ctx ends.
func (c *Cluster) start(ctx context.Context) (*server, error) {
	deadline := time.Now().Add(startPatience)
	for {
		server, err := c.startOnce(ctx)
		if err == nil {
			return server, nil
		}
		if time.Now().After(deadline) {
			return nil, err
		}
		c.logger.Warn("Postgres did not start; trying again", "error", err)
		if ended := pause.For(ctx, startPause); ended != nil {
			return nil, errors.Join(err, ended)
		}
	}
}

func (c *Cluster) startOnce(ctx context.Context) (*server, error) {
	if server, err := c.takeOver(ctx); server != nil || err != nil {
		return server, err
	}
	server, err := launch(c.binaries, c.home, c.settings, &relay{c.logger})
	if err != nil {
		return nil, err
	}
	if err := c.awaitReady(ctx, server); err != nil {
		return nil, errors.Join(err, server.end(err))
	}
	return server, nil
}

// takeOver returns the server left by an earlier recitald, or nil if there is no usable one.
func (c *Cluster) takeOver(ctx context.Context) (*server, error) {
	server := adopt(c.home)
	if server == nil {
		return nil, nil
	}
	if !runsWith(c.home, c.binaries, c.settings) {
		c.logger.Info("stopping a Postgres that runs with other settings", "pid", server.process.Pid)
		return nil, server.stop()
	}
	c.logger.Info("taking over the Postgres that an earlier recitald left", "pid", server.process.Pid)
	err := c.awaitReady(ctx, server)
	if err == nil {
		return server, nil
	}
	c.logger.Warn("the Postgres that an earlier recitald left cannot be used", "pid", server.process.Pid, "error", err)
	return nil, errors.Join(ctx.Err(), server.end(err))
}

// awaitReady waits until the server accepts connections. It returns an error if the server exits, does not answer at
// all for a while, or ctx ends.
func (c *Cluster) awaitReady(ctx context.Context, server *server) error {
	heard := time.Now()
	for {
		err := c.execute(ctx, "postgres", "select")
		if err == nil {
			return nil
		}
		if isAnswer(err) {
			heard = time.Now()
		}
		if time.Since(heard) > startPatience {
			return fmt.Errorf("waiting for Postgres: %w", err)
		}
		select {
		case <-server.exited:
			return fmt.Errorf("the server ended while it started: %s", server.said())
		case <-ctx.Done():
			return fmt.Errorf("waiting for Postgres: %w (it answered: %w)", ctx.Err(), err)
		case <-time.After(readyPause):
		}
	}
}

func (c *Cluster) createDatabase(ctx context.Context) error {
	err := c.execute(ctx, Database, "select")
	if err == nil {
		return nil
	}
	if err := c.execute(ctx, "postgres", "create database "+Database); err != nil {
		return fmt.Errorf("creating the database: %w", err)
	}
	return nil
}

func (c *Cluster) execute(ctx context.Context, database, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, readyAttempt)
	defer cancel()
	connection, err := pgx.Connect(ctx, SocketURL(c.home.socketDir, database))
	if err != nil {
		return err
	}
	defer connection.Close(ctx)
	_, err = connection.Exec(ctx, sql)
	return err
}
