package app

import (
	"cmp"
	"errors"
	"time"

	commands "github.com/recital-tts/recital/commands/hosting"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/providers/hosting"
	"github.com/recital-tts/recital/internal/providers/hosting/vercel"
	"github.com/recital-tts/recital/internal/providers/signin"
	projections "github.com/recital-tts/recital/projections/hosting"
	writeapi "github.com/recital-tts/recital/writeapi/hosting"
)

// hostingSlice returns the slice of the platform on which accounts host their projects.
func hostingSlice(core *coreParts, providers *providerParts, shared *sharedParts) slice {
	return slice{
		name:       "hosting",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func() (service, error) {
			platform := openPlatform(core, providers.standIns)
			hosting := commands.New(commands.Config{
				Journal: core.journal, Platform: platform, Keyring: core.keys, APIKeys: shared.accounts, Now: time.Now,
			})
			write := writeapi.API{Hosting: hosting, ReadModels: core.projector}
			return service{
				public: write.Routes(),
				checks: hostingChecks(core, providers.standIns),
				toDos:  []toDo{{commands.CompleteProcess, readmodel.ToDoCompleteVariableView, byStream(hosting.Complete)}},
				erases: []closing{hosting.EndFor}, // last, because the platform may be away
			}, nil
		},
	}
}

// openPlatform returns the hosting platform. In mode dev without credentials, a stand-in replaces it.
func openPlatform(core *coreParts, standIns *standIns) hosting.Platform {
	conf := vercel.Config{
		ClientID: core.cfg.HostingClient, ClientSecret: core.cfg.HostingSecret,
		RedirectURL: core.cfg.HostingRedirect, URL: core.cfg.HostingURL,
		Logger: core.log, Watch: core.metrics.watchProvider("hosting"),
	}
	if conf.ClientID == "" {
		if conf.URL = standIns.hostingURL(); conf.URL == "" {
			return hosting.Off{}
		}
		conf.ClientID, conf.ClientSecret = standIns.config.Hosting.ClientID, standIns.config.Hosting.ClientSecret
	}
	platform := vercel.New(conf)
	core.onClose("the connections to the hosting platform", platform.Close)
	return platform
}

// platformAt returns the address of the hosting platform, for people.
func (a *App) platformAt() string {
	if url := a.standIns.hostingURL(); url != "" {
		return url + "  (a stand-in for development, with a page)"
	}
	return cmp.Or(a.cfg.HostingURL, "Vercel")
}

// checkHosting prevents secrets from being sent in the clear.
func (c Config) checkHosting(m *Mistakes) {
	m.when(c.HostingURL != "" && c.HostingClient == "", "hosting-url", "it needs RECITAL_HOSTING_CLIENT_ID beside it")
	m.when((c.HostingClient == "") != (cmp.Or(c.HostingSecret, c.HostingSecretFile) == ""), "hosting-client-secret",
		"the hosting platform needs both RECITAL_HOSTING_CLIENT_ID and RECITAL_HOSTING_CLIENT_SECRET, or its file")
	m.add("hosting-url", c.checkHostingURL())
}

func (c Config) checkHostingURL() error {
	u, isOrigin := parseOrigin(cmp.Or(c.HostingURL, vercelURL))
	switch {
	case !isOrigin:
		return errors.New("the hosting platform's URL must be http(s)://HOST or http(s)://HOST:PORT")
	case u.Scheme != "https" && (c.Mode == modeProd || !signin.IsLoopback(u.Host)):
		return errors.New("the hosting platform's URL must begin with https://, " +
			"unless it is on this machine and the mode is dev")
	}
	return nil
}

// hostingChecks returns the checks of the hosting platform, if there is one.
func hostingChecks(core *coreParts, standIns *standIns) []health.Check {
	url := standIns.hostingURL()
	if url == "" && core.cfg.HostingClient == "" {
		return nil
	}
	return []health.Check{core.providerCheck(alert.HostingSource, "the hosting platform",
		cmp.Or(url, core.cfg.HostingURL, vercelURL))}
}
