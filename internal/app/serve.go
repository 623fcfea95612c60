package app

import (
	"context"
	"fmt"
	"net"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/docs"
	"github.com/recital-tts/recital/internal/http/web/openapi"
	"github.com/recital-tts/recital/internal/process/datafolder"
	"github.com/recital-tts/recital/internal/process/lifecycle"
	"github.com/recital-tts/recital/internal/providers/signin"
)

// listener is an address that is served.
type listener struct{ addr net.Addr }

func (a *App) serve(ctx context.Context) (err error) {
	warnOfFiles(a.log, a.cfg.Connections)
	a.admin, err = a.listen(a.cfg.AdminAddr, docs.Admin(), web.Config{
		Name: "admin", Routes: a.service.admin, NoCORS: true, Tokens: a.tokens, Record: a.acts.Record,
	}, a.adminPart)
	if err != nil {
		return err
	}
	proxies, err := a.cfg.proxies()
	if err != nil {
		return err
	}
	origins, err := signin.ParseOrigins(a.cfg.RedirectOrigins)
	if err != nil {
		return err
	}
	a.public, err = a.listen(a.cfg.HTTPAddr, docs.Public(a.links().Base()), web.Config{
		Name: "public", Routes: a.service.public, Tokens: a.tokens, Record: a.acts.Record,
		Authenticator: access(a.credentials.FindKey),
		Readers:       access(a.credentials.FindKeyToRead),
		Sessions:      browsers{a.credentials, a.sessions, a.log},
		Revocations:   revocations{a.credentials},
		Rates:         a.rates,
		Positions:     positions{log: a.journal.Log, projector: a.projector},
		Limits:        a.cfg.limits(),
		Uploads:       a.uploads,
		Origins:       origins.Serialized(),
		Origin:        a.cfg.ownOrigin(),
		PlainCookies:  a.cfg.plainCookies(),
		Proxies:       proxies,
		CountryHeader: a.cfg.CountryHeader,
	}, a.publicPart)
	if err != nil {
		return err
	}
	if a.standIns != nil {
		if err := a.standIns.setWebhookURL("http://" + a.PublicAddr() + webhookPath); err != nil {
			return err
		}
	}
	return a.folder.Announce(datafolder.Addresses{Public: a.PublicAddr(), Admin: a.AdminAddr()})
}

func (a *App) adminPart(server *web.Server, ln net.Listener) lifecycle.Part {
	return lifecycle.Part{
		Run: func(context.Context) error { return server.Serve(ln) },
		Stop: func() error {
			ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
			defer cancel()
			return server.Shutdown(ctx)
		},
	}
}

// publicPart drains at its stop. An operator may drain it before: recitald then goes on without it, and ends when it is
// stopped.
func (a *App) publicPart(server *web.Server, ln net.Listener) lifecycle.Part {
	a.drain.server = server
	return lifecycle.Part{
		Run: func(ctx context.Context) error {
			err := server.Serve(ln)
			if a.drain.Leaving() {
				<-ctx.Done()
			}
			return err
		},
		Stop: a.drain.finish,
	}
}

// listen serves the routes of config, and what describes them, as a part of recitald.
func (a *App) listen(address string, info openapi.Info, config web.Config, as func(*web.Server, net.Listener) lifecycle.Part) (listener, error) {
	described, err := docs.Routes(info, config.Routes)
	if err != nil {
		return listener{}, err
	}
	config.Routes = append(config.Routes, described...)
	config.Logger, config.Traces = a.log, a.traces
	config.Observe = a.metrics.observeRequest(config.Name)
	config.Rates = a.metrics.countRates(config.Name, config.Rates)
	server, err := web.NewServer(config)
	if err != nil {
		return listener{}, err
	}
	a.metrics.observeServer(config.Name, server.Stats)
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return listener{}, fmt.Errorf("listening for the %s server: %w", config.Name, err)
	}
	part := as(server, ln)
	part.Name = "the " + config.Name + " server"
	a.running.Add(part)
	return listener{addr: ln.Addr()}, nil
}

// PublicAddr is where the interface is served.
func (a *App) PublicAddr() string { return a.public.addr.String() }

// AdminAddr is where operators are served.
func (a *App) AdminAddr() string { return a.admin.addr.String() }
