package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/recital-tts/recital/internal/lifecycle"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/internal/web/docs"
	"github.com/recital-tts/recital/internal/web/openapi"
	"github.com/recital-tts/recital/writeapi/operations"
)

// shutdownTimeout is how long the replies under way may take to finish when recitald ends.
const shutdownTimeout = 25 * time.Second

// listener is an address that is served.
type listener struct {
	server *web.Server
	addr   net.Addr
}

func (a *App) serve(ctx context.Context) (err error) {
	a.admin, err = a.listen(a.cfg.AdminAddr, docs.Admin(), web.Config{
		Name: "admin", Routes: a.service.admin, NoCORS: true, Tokens: a.tokens,
	})
	if err != nil {
		return err
	}
	a.public, err = a.listen(a.cfg.HTTPAddr, docs.Public(a.links().Base()), web.Config{
		Name: "public", Routes: a.service.public, Ready: a.notReady,
		Authenticator: access{a.credentials},
		Revocations:   access{a.credentials},
		Positions:     positions{log: a.journal.Log, projector: a.projector},
		Limits:        a.cfg.limits(),
	})
	return err
}

// listen serves the routes of config, and what describes them.
func (a *App) listen(address string, info openapi.Info, config web.Config) (listener, error) {
	described, err := docs.Routes(info, config.Routes)
	if err != nil {
		return listener{}, err
	}
	config.Routes = append(config.Routes, described...)
	config.Logger = a.log
	config.Observe = a.metrics.observeRequest(config.Name)
	server, err := web.NewServer(config)
	if err != nil {
		return listener{}, err
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return listener{}, fmt.Errorf("listening for the %s server: %w", config.Name, err)
	}
	a.running.Add(lifecycle.Part{
		Name: "the " + config.Name + " server",
		Run:  func(context.Context) error { return server.Serve(ln) },
		Stop: func() error {
			ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
			defer cancel()
			return server.Shutdown(ctx)
		},
	})
	return listener{server: server, addr: ln.Addr()}, nil
}

// PublicAddr is where the interface is served.
func (a *App) PublicAddr() string { return a.public.addr.String() }

// AdminAddr is where operators are served.
func (a *App) AdminAddr() string { return a.admin.addr.String() }

// notReady returns why requests cannot be served, nil when they can.
func (a *App) notReady() error {
	select {
	case <-a.projector.CaughtUp():
	default:
		return errors.New("the read models are catching up")
	}
	if a.public.server != nil && a.public.server.Draining() {
		return operations.ErrDraining
	}
	// Without the second engine all but the blizzard models' English is served: recital_speech_engines_alive shows it, and no
	// balancer takes the instance out for it.
	if !a.engines.Healthy() {
		return errors.New("no speech engine runs")
	}
	if !a.codecs.Healthy() {
		return errors.New("no codec runs")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := a.pool.Ping(ctx); err != nil {
		return fmt.Errorf("asking Postgres: %w", err)
	}
	return nil
}
