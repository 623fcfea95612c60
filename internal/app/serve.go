package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/internal/web/docs"
	"github.com/recital-tts/recital/internal/web/openapi"
	"github.com/recital-tts/recital/readapi/accounts"
	"github.com/recital-tts/recital/writeapi/account"
	"github.com/recital-tts/recital/writeapi/ops"
	"github.com/recital-tts/recital/writeapi/speech"
	"github.com/recital-tts/recital/writeapi/voices"
)

// shutdownTimeout is how long the replies under way may take to finish when recitald ends.
const shutdownTimeout = 25 * time.Second

// listener is an address that is served.
type listener struct {
	server *web.Server
	addr   net.Addr
}

func (a *App) publicRoutes() []web.Route {
	read := accounts.API{Pool: a.pool}
	write := account.API{Accounts: a.accounts, ReadModels: a.projector}
	speak := speech.API{
		Synthesiser: a.synthesiser(), Feedback: commands.NewFeedback(a.journal, a.keys, time.Now), TimestampsURL: a.links().Timestamps,
	}
	operate := ops.API{Ready: a.ready}
	return slices.Concat(read.Routes(), write.Routes(), a.clipRoutes(), speak.Routes(), a.timestampRoutes(), a.voiceRoutes(), operate.Routes())
}

func (a *App) voiceRoutes() []web.Route {
	speak := a.synthesiser()
	all := voices.API{Previews: commands.NewPreviews(speak.Speaker, speak.Encoders), Base: strings.TrimRight(a.cfg.PublicURL, "/")}
	return all.Routes()
}

func (a *App) adminRoutes() []web.Route {
	accounts := account.API{Accounts: a.accounts, Ledger: a.ledger, ReadModels: a.projector}
	readModels := ops.Projections{Generations: a.projector}
	return append(append(accounts.AdminRoutes(), readModels.AdminRoutes()...), a.metrics.route())
}

func (a *App) serve(ctx context.Context) (err error) {
	a.admin, err = a.listen(a.cfg.AdminAddr, docs.Admin(), web.Config{
		Name: "admin", Routes: a.adminRoutes(), NoCORS: true, Tokens: a.tokens,
	})
	if err != nil {
		return err
	}
	a.public, err = a.listen(a.cfg.HTTPAddr, docs.Public(a.cfg.PublicURL), web.Config{
		Name: "public", Routes: a.publicRoutes(), Ready: a.ready,
		Authenticator: authenticator{a.watcher},
		Revocations:   a.watcher,
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
	served := make(chan error, 1)
	go func() {
		err := server.Serve(ln)
		if err != nil {
			a.fail("the "+config.Name+" server", err)
		}
		served <- err
	}()
	a.onClose("the "+config.Name+" server", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		return errors.Join(server.Shutdown(ctx), <-served)
	})
	return listener{server: server, addr: ln.Addr()}, nil
}

// PublicAddr is where the interface is served.
func (a *App) PublicAddr() string { return a.public.addr.String() }

// AdminAddr is where operators are served.
func (a *App) AdminAddr() string { return a.admin.addr.String() }

// ready tells why requests cannot be served, nil when they can.
func (a *App) ready() error {
	select {
	case <-a.projector.CaughtUp():
	default:
		return errors.New("the read models are catching up")
	}
	if a.public.server != nil && a.public.server.Draining() {
		return ops.ErrDraining
	}
	// Without the second engine all but the blizzard models' English is served: recital_speech_engines_alive tells, and no
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
