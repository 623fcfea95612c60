package app

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	commands "github.com/recital-tts/recital/commands/hosting"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/providers/hosting"
	"github.com/recital-tts/recital/internal/providers/hosting/vercel"
	"github.com/recital-tts/recital/internal/providers/signin"
	projections "github.com/recital-tts/recital/projections/hosting"
	writeapi "github.com/recital-tts/recital/writeapi/hosting"
)

// hostingSlice is that of the platform on which accounts host their projects.
func hostingSlice() slice {
	return slice{
		name:       "hosting",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func(p *parts) (service, error) {
			platform := p.openPlatform()
			hosting := commands.New(commands.Config{Journal: p.journal, Platform: platform, Keyring: p.keys, APIKeys: p.accounts, Now: time.Now})
			write := writeapi.API{Hosting: hosting, ReadModels: p.projector}
			return service{
				public: write.Routes(),
				checks: p.hostingChecks(),
				toDos: []toDo{{commands.CompleteProcess, readmodel.ToDoCompleteVariableView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
					return hosting.Complete(ctx, item.Stream, item.Cause)
				}}},
				erases: []closing{hosting.EndFor}, // last, because the platform may be away
			}, nil
		},
	}
}

// openPlatform returns the hosting platform. In mode dev a stand-in takes its place when no credentials are set.
func (p *parts) openPlatform() hosting.Platform {
	conf := vercel.Config{ClientID: p.cfg.HostingClient, ClientSecret: p.cfg.HostingSecret, RedirectURL: p.cfg.HostingRedirect, URL: p.cfg.HostingURL, Logger: p.log,
		Watch: p.metrics.watchProvider("hosting")}
	switch {
	case conf.ClientID == "" && (p.standIns == nil || p.standIns.started.Hosting == ""):
		return hosting.Off{}
	case conf.ClientID == "":
		own := p.standIns.config.Hosting
		conf.ClientID, conf.ClientSecret, p.hostingAt = own.ClientID, own.ClientSecret, p.standIns.started.Hosting
		conf.URL = p.hostingAt
	}
	platform := vercel.New(conf)
	p.onClose("the connections to the hosting platform", platform.Close)
	return platform
}

// platformAt says where keys for projects go.
func (p *parts) platformAt() string {
	if p.hostingAt == "" {
		return cmp.Or(p.cfg.HostingURL, "Vercel")
	}
	return p.hostingAt + "  (a stand-in for development, with a page)"
}

// checkHosting keeps secrets from being sent in the clear.
func (c Config) checkHosting(m *Mistakes) {
	m.when(c.HostingURL != "" && c.HostingClient == "", "hosting-url", "it needs RECITAL_HOSTING_CLIENT_ID beside it")
	m.when((c.HostingClient == "") != (cmp.Or(c.HostingSecret, c.HostingSecretFile) == ""), "hosting-client-secret", "the hosting platform needs both RECITAL_HOSTING_CLIENT_ID and RECITAL_HOSTING_CLIENT_SECRET, or its file")
	m.add("hosting-url", c.checkHostingURL())
	m.when(c.HostingAddr != "" && !signin.IsLoopback(c.HostingAddr), "hosting-addr", "the hosting platform for development serves on loopback only")
}

func (c Config) checkHostingURL() error {
	u, err := url.Parse(cmp.Or(c.HostingURL, vercelURL))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "":
		return errors.New("the hosting platform's URL must be http(s)://HOST or http(s)://HOST:PORT")
	case u.Scheme != "https" && (c.Mode == modeProd || !signin.IsLoopback(u.Host)):
		return errors.New("the hosting platform's URL must begin with https://, unless it is on this machine and the mode is dev")
	}
	return nil
}

// hostingChecks look at the hosting platform, if there is one.
func (p *parts) hostingChecks() []health.Check {
	if p.hostingAt == "" && p.cfg.HostingClient == "" {
		return nil
	}
	return []health.Check{p.providerCheck(alert.HostingSource, "the hosting platform", cmp.Or(p.hostingAt, p.cfg.HostingURL, vercelURL))}
}
