package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/commands/sessions"
	commands "github.com/recital-tts/recital/commands/signin"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/identity"
	"github.com/recital-tts/recital/internal/process/lifecycle"
	"github.com/recital-tts/recital/internal/providers/signin"
	"github.com/recital-tts/recital/internal/providers/signin/openid"
	"github.com/recital-tts/recital/internal/standins/devidp"
	readapi "github.com/recital-tts/recital/readapi/signin"
	writeapi "github.com/recital-tts/recital/writeapi/signin"
)

// signinSlice is that of people who sign in by an identity provider.
func signinSlice() slice {
	return slice{
		name:   "signin",
		events: commands.Events(),
		open: func(p *parts) (service, error) {
			providers, err := p.openProviders()
			if err != nil {
				return service{}, err
			}
			origins, err := signin.ParseOrigins(p.cfg.RedirectOrigins)
			if err != nil {
				return service{}, err
			}
			signIns := commands.New(commands.Config{
				Journal: p.journal, Keys: p.keys, Accounts: owners{p.accounts}, Sessions: openings{p.sessions}, FreePeriods: freePeriods{p.ledger},
				DrawAccount: accounts.NewAccountID, Now: time.Now,
			})
			flow := &signin.Flow{Providers: providers, Origins: origins, Key: p.secrets.signIns, Now: time.Now}
			uses := readapi.Uses{Name: account.ForName, Email: account.ForEmail, Picture: account.ForPicture}
			read := readapi.API{Models: p.projector, Keys: p.keys, SealedFor: uses}
			write := writeapi.API{Flow: flow, SignIns: signIns, Sessions: p.sessions, Links: p.links(), ReadModels: p.projector, Logger: p.log, Failed: p.metrics.countFailedSignIns()}
			return service{
				public:  slices.Concat(read.Routes(), write.Routes()),
				ends:    []closing{signIns.Release},
				watches: p.watchIssuers(providers),
			}, nil
		},
	}
}

// providerNames are the names of identity providers in the interface.
var providerNames = []string{"idp_1", "idp_2", "idp_3", "idp_4"}

// providers returns what is configured of each provider, "" for nothing.
func (c Config) providers() map[string]string {
	return map[string]string{"idp_1": c.IDP1, "idp_2": c.IDP2, "idp_3": c.IDP3, "idp_4": c.IDP4}
}

// openProviders returns the identity providers. In mode dev one of our own stands behind all that are not configured.
func (p *parts) openProviders() (map[string]signin.Provider, error) {
	all := map[string]signin.Provider{}
	var development []string
	for _, name := range providerNames {
		setting := p.cfg.providers()[name]
		if setting == "" {
			development = append(development, name)
			continue
		}
		config, err := readProvider(setting)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if all[name], err = p.openProvider(config); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if p.cfg.Mode == modeProd || len(development) == 0 {
		return all, nil
	}
	return all, p.developProviders(development, all)
}

func (p *parts) openProvider(config openid.Config) (*openid.Provider, error) {
	config.Watch = p.metrics.watchProvider("sign_in")
	provider, err := openid.New(config)
	if err == nil {
		p.onClose("an identity provider", provider.Close)
	}
	return provider, err
}

// developProviders runs the identity provider for development.
func (p *parts) developProviders(names []string, all map[string]signin.Provider) error {
	ln, err := devidp.Listen(p.cfg.IDPAddr)
	if err != nil {
		return err
	}
	home, err := url.Parse(p.cfg.PublicURL)
	if err != nil {
		return err
	}
	server, err := devidp.New(ln, names, home.Host)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	p.running.Add(lifecycle.Part{Name: "the identity provider for development", Run: server.Run, Stop: server.Close})
	for _, name := range names {
		all[name], err = p.openProvider(openid.Config{Issuer: server.Issuer(name), ClientID: devidp.ClientID, ClientSecret: server.ClientSecret()})
		if err != nil {
			return err
		}
	}
	return nil
}

// splitProvider takes a setting apart: ISSUER CLIENT_ID SECRET_FILE.
func splitProvider(setting string) (issuer, client, secretFile string, err error) {
	fields := strings.Fields(setting)
	if len(fields) != 3 {
		return "", "", "", errors.New("an identity provider is set as ISSUER CLIENT_ID SECRET_FILE")
	}
	return fields[0], fields[1], fields[2], nil
}

// readProvider reads a setting and the file of the secret.
func readProvider(setting string) (openid.Config, error) {
	issuer, client, file, err := splitProvider(setting)
	if err != nil {
		return openid.Config{}, err
	}
	secret, err := os.ReadFile(file)
	if err != nil {
		return openid.Config{}, fmt.Errorf("reading the client's secret: %w", err)
	}
	return openid.Config{Issuer: issuer, ClientID: client, ClientSecret: strings.TrimSpace(string(secret))}, nil
}

func (c Config) checkSignIn(m *Mistakes) {
	for _, name := range providerNames {
		if setting := c.providers()[name]; setting != "" {
			if _, _, _, err := splitProvider(setting); err != nil {
				m.add(strings.ReplaceAll(name, "_", "-"), fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	_, err := signin.ParseOrigins(c.RedirectOrigins)
	m.add("redirect-origins", err)
	if own := c.ownOrigin(); strings.HasPrefix(own, "http:") && !c.plainCookies() {
		for _, origin := range c.RedirectOrigins {
			m.when(!signin.SameSite(origin, own), "redirect-origins", fmt.Sprintf("the origin %q is on another site than the public URL, "+
				"whose cookies browsers show there over https only", origin))
		}
	}
}

// owners lets sign-ins open accounts.
type owners struct{ accounts *accounts.Accounts }

// Open implements signin.Accounts.
func (o owners) Open(ctx context.Context, id, person string, free *identity.FreePeriod, origin journal.Origin) error {
	_, err := o.accounts.OpenFor(ctx, id, person, (*account.FreePeriod)(free), origin)
	return err
}

// RecordProfile implements signin.Accounts.
func (o owners) RecordProfile(ctx context.Context, id string, p signin.Person, origin journal.Origin) error {
	_, err := o.accounts.RecordProfile(ctx, id, accounts.Profile{Name: p.Name, Email: p.Email, Picture: p.Picture}, origin)
	return err
}

// Identity implements signin.Accounts.
func (o owners) Identity(ctx context.Context, id string) (string, error) {
	state, _, err := o.accounts.State(ctx, id)
	return state.Identity, err
}

// freePeriods returns what accounts that close leave.
type freePeriods struct{ ledger *ledger.Ledger }

// FreePeriodOf implements signin.FreePeriods.
func (f freePeriods) FreePeriodOf(ctx context.Context, id string) (*identity.FreePeriod, error) {
	period, err := f.ledger.FreePeriodOf(ctx, id)
	return (*identity.FreePeriod)(period), err
}

// openings lets sign-ins open sessions.
type openings struct{ sessions *sessions.Sessions }

// Open implements signin.Sessions.
func (o openings) Open(ctx context.Context, id string, client commands.Client, origin journal.Origin) (commands.Session, error) {
	opened, err := o.sessions.Open(ctx, id, sessions.Client(client), origin)
	return commands.Session{Cookie: opened.Cookie, ExpiresAt: opened.ExpiresAt, Position: opened.Position}, err
}
