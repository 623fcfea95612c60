package app

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"time"

	commands "github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/countries"
	"github.com/recital-tts/recital/internal/providers/signin"
	projections "github.com/recital-tts/recital/projections/sessions"
	readapi "github.com/recital-tts/recital/readapi/sessions"
	writeapi "github.com/recital-tts/recital/writeapi/sessions"
)

// sessionsSlice returns the slice of browser sessions.
func sessionsSlice(core *coreParts, shared *sharedParts) slice {
	return slice{
		name:       "sessions",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func() (service, error) {
			places, err := countries.Open(core.cfg.CountryFile)
			if err != nil {
				return service{}, err
			}
			read := readapi.API{Models: core.projector, Keys: core.keys, Idle: core.cfg.sessions().Idle}
			shared.sessions = commands.New(commands.Config{
				Journal: core.journal, Keys: core.keys, Accounts: shared.accounts, Limits: core.cfg.sessions(),
				Countries: places.Of, Now: time.Now, Logger: core.log,
				Shown: func(ctx context.Context, account string, at eventlog.Position) ([]string, error) {
					ctx, cancel := context.WithTimeout(ctx, surplusPatience)
					defer cancel()
					if err := core.projector.Wait(ctx, at, readmodel.Sessions); err != nil {
						return nil, err
					}
					return read.Shown(ctx, account)
				},
			})
			write := writeapi.API{Sessions: shared.sessions, Accounts: shared.accounts, ReadModels: core.projector}
			return service{
				public: slices.Concat(read.Routes(), write.Routes()),
				toDos: []toDo{
					{commands.ExpiryProcess, readmodel.ToDoExpireSessionsView, byStream(shared.sessions.Expire)},
				},
				close: places.Close,
			}, nil
		},
	}
}

// surplusPatience is the time that a sign-in waits for the read model before it looks for surplus sessions.
const surplusPatience = 2 * time.Second

// sessionRotation is the age at which the secret in a browser's cookie is replaced. The old one stays valid for another
// minute.
const sessionRotation = 24 * time.Hour

// liveSessions is the maximum number of concurrent sessions of an account. Beyond that the oldest session ends.
const liveSessions = 100

// sessions returns the limits of sessions.
func (c Config) sessions() commands.Limits {
	return commands.Limits{
		Length: c.SessionLength, Idle: c.SessionIdle, Rotate: sessionRotation, Live: cmp.Or(c.AccountSessions, liveSessions),
	}
}

func (c Config) checkSessions(m *Mistakes) {
	m.when(c.SessionLength < c.SessionIdle, "session-length",
		"a session must be able to last for as long as it may be idle")
	_, err := c.proxies()
	m.add("trusted-proxies", err)
}

// proxies returns the trusted proxies.
func (c Config) proxies() (trusted []netip.Prefix, err error) {
	for _, text := range c.TrustedProxies {
		prefix, err := netip.ParsePrefix(text)
		if addr, single := netip.ParseAddr(text); single == nil {
			prefix, err = addr.Unmap().Prefix(addr.Unmap().BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("the trusted proxy %q is neither an address nor a network, such as 10.0.0.0/8", text)
		}
		trusted = append(trusted, prefix.Masked())
	}
	return trusted, nil
}

// ownOrigin returns the origin of the public URL, or "" if there is none.
func (c Config) ownOrigin() string { return signin.SerializedOrigin(c.PublicURL) }

// plainCookies reports whether browsers reach the service over HTTP, on this machine.
func (c Config) plainCookies() bool {
	u, err := url.Parse(c.PublicURL)
	if c.PublicURL == "" || err != nil {
		return c.Mode != modeProd
	}
	ip, isIP := netip.ParseAddr(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || isIP == nil && ip.IsLoopback())
}
