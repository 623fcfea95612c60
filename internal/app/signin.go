package app

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/commands/accounts"
	commands "github.com/recital-tts/recital/commands/signin"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/providers/signin"
	"github.com/recital-tts/recital/internal/providers/signin/openid"
	"github.com/recital-tts/recital/internal/standins"
	readapi "github.com/recital-tts/recital/readapi/signin"
	writeapi "github.com/recital-tts/recital/writeapi/signin"
)

// signinSlice returns the slice of signing in by an identity provider.
func signinSlice(core *coreParts, providers *providerParts, shared *sharedParts) slice {
	return slice{
		name:   "signin",
		events: commands.Events(),
		open: func() (service, error) {
			issuers, err := openProviders(core, providers.standIns)
			if err != nil {
				return service{}, err
			}
			origins, err := signin.ParseOrigins(core.cfg.RedirectOrigins)
			if err != nil {
				return service{}, err
			}
			signIns := commands.New(commands.Config{
				Journal: core.journal, Keys: core.keys, Accounts: shared.accounts,
				Sessions: shared.sessions, FreePeriods: shared.ledger,
				DrawAccount: accounts.NewAccountID, Now: time.Now,
			})
			flow := &signin.Flow{Providers: issuers, Origins: origins, Key: core.secrets.signIns, Now: time.Now}
			read := readapi.API{Models: core.projector, Keys: core.keys, Providers: shownProviders(issuers)}
			write := writeapi.API{
				Flow: flow, SignIns: signIns, Sessions: shared.sessions, Links: core.links(), ReadModels: core.projector,
				Logger: core.log, Failed: core.metrics.countFailedSignIns(),
			}
			return service{
				public: slices.Concat(read.Routes(), write.Routes()),
				ends:   []closing{signIns.Release},
				checks: issuerChecks(core, issuers),
			}, nil
		},
	}
}

// providerNames are the names of the identity providers in the public interface.
var providerNames = []string{"idp_1", "idp_2", "idp_3", "idp_4"}

// providers returns the setting of each provider, "" if it is not set.
func (c Config) providers() map[string]string {
	return map[string]string{"idp_1": c.IDP1, "idp_2": c.IDP2, "idp_3": c.IDP3, "idp_4": c.IDP4}
}

// openProviders returns the identity providers. In mode dev stand-ins replace those that are not configured.
func openProviders(core *coreParts, standIns *standIns) (map[string]signin.Provider, error) {
	all := map[string]signin.Provider{}
	for _, name := range providerNames {
		config, err := core.cfg.providerConfig(name, standIns)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if config.Issuer == "" {
			continue
		}
		config.Watch = core.metrics.watchProvider("sign_in")
		provider, err := openid.New(config)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		core.onClose("an identity provider", provider.Close)
		all[name] = provider
	}
	return all, nil
}

// shownProviders returns the providers for display before a sign-in.
func shownProviders(providers map[string]signin.Provider) (shown []readapi.Provider) {
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		shown = append(shown, readapi.Provider{Provider: name, Issuer: providers[name].Issuer()})
	}
	return shown
}

// providerConfig returns the configuration of a provider; its issuer is "" if there is no such provider.
func (c Config) providerConfig(name string, standIns *standIns) (openid.Config, error) {
	if setting := c.providers()[name]; setting != "" {
		return readProvider(setting)
	}
	if standIns == nil || standIns.started.SignIn == "" {
		return openid.Config{}, nil
	}
	return openid.Config{
		Issuer: standIns.started.SignIn + "/" + name, ClientID: standins.ClientID,
		ClientSecret: standIns.config.SignIn.ClientSecret,
	}, nil
}

// developedProviders returns the names of the providers that stand-ins replace.
func (c Config) developedProviders() (names []string) {
	for _, name := range providerNames {
		if c.providers()[name] == "" {
			names = append(names, name)
		}
	}
	return names
}

// splitProvider parses a setting: ISSUER CLIENT_ID SECRET_FILE.
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
			m.when(!signin.SameSite(origin, own), "redirect-origins",
				fmt.Sprintf("the origin %q is on another site than the public URL, "+
					"whose cookies browsers show there over https only", origin))
		}
	}
}

// issuerChecks returns the checks of the identity providers.
func issuerChecks(core *coreParts, providers map[string]signin.Provider) (checks []health.Check) {
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		url := strings.TrimSuffix(providers[name].Issuer(), "/") + "/.well-known/openid-configuration"
		checks = append(checks, core.providerCheck("idp/"+name, "the identity provider "+name, url))
	}
	return checks
}

// countFailedSignIns returns a function that counts failed sign-ins, and initialises each reason to zero.
func (m *metrics) countFailedSignIns() func(provider string, reason signin.Reason) {
	failed := m.counter("recital_sign_ins_failed_total", "Sign-ins that failed, by the identity provider and the reason.",
		"provider", "reason")
	count := func(provider string, reason signin.Reason) prometheus.Counter {
		return failed.WithLabelValues(provider, string(reason))
	}
	for _, provider := range providerNames {
		for _, reason := range signin.Reasons() {
			count(provider, reason)
		}
	}
	return func(provider string, reason signin.Reason) { count(provider, reason).Inc() }
}
