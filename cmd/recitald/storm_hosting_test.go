package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/standins/hostingplatform/platformtest"
)

// hostingChecker checks hosting: after the last change of each project is answered, exactly the wanted projects have a
// key of the account, each in one variable, and the account has no other keys for projects.
type hostingChecker struct {
	stormClient
	platform   *platformtest.Platform
	account    customer
	config     string
	code       string // until it is exchanged
	wanted     map[string]bool
	doubtful   map[string]bool // projects whose last change was not answered
	changes    int
	unanswered int
}

var hostedSites = []string{"site", "shop", "blog", "docs"}

func newHostingChecker(w *world, at *server, v stormClient) *hostingChecker {
	p := &hostingChecker{
		stormClient: v, platform: w.platform, account: at.openAccount("indie"), wanted: map[string]bool{},
		doubtful: map[string]bool{},
	}
	p.config, p.code = w.platform.Install("team_1", hostedSites...)
	return p
}

func (p *hostingChecker) work(at *server, r *rand.Rand) error {
	if p.code != "" {
		return p.connect(at)
	}
	site := hostedSites[r.IntN(len(hostedSites))]
	return p.change(at, site, !p.wanted[site])
}

// connect exchanges a code. Like an owner, it replaces a code that was used up by a failed request.
func (p *hostingChecker) connect(at *server) error {
	answer, err := p.post(at, "projects", url.Values{"config_id": {p.config}, "code": {p.code}})
	switch {
	case err != nil:
	case answer.status == http.StatusOK:
		p.code = ""
	case answer.status == http.StatusBadRequest:
		p.code = p.platform.Reinstall(p.config)
	}
	return nil
}

func (p *hostingChecker) post(at *server, what string, form url.Values) (reply, error) {
	return p.ask(p.account.at(at).request(http.MethodPost, "/v1/account/hosting/"+what, strings.NewReader(form.Encode()),
		"Content-Type", "application/x-www-form-urlencoded"))
}

func (p *hostingChecker) change(at *server, site string, has bool) error {
	field := map[bool]string{true: "add_project_names", false: "remove_projects"}[has]
	p.wanted[site], p.doubtful[site] = has, true
	p.changes++
	answer, err := p.post(at, "env_vars", url.Values{"config_id": {p.config}, field: {site}})
	var done struct{ Success bool }
	if err != nil || answer.status != http.StatusOK {
		p.unanswered++
		return nil
	}
	if err := json.Unmarshal(answer.body, &done); err != nil {
		return fmt.Errorf("the answer %q: %w", answer.text(), err)
	}
	p.doubtful[site] = !done.Success
	return nil
}

func (p *hostingChecker) settle(at []*server, _ books) error {
	for end := time.Now().Add(calm); ; time.Sleep(20 * pause) {
		if time.Now().After(end) {
			return fmt.Errorf("the changes of %v are never answered, connected: %v", p.doubtful, p.code == "")
		}
		if p.code != "" {
			if err := p.connect(at[0]); err != nil {
				return err
			}
			continue
		}
		open := 0
		for _, site := range hostedSites {
			if !p.doubtful[site] {
				continue
			}
			if err := p.change(at[0], site, p.wanted[site]); err != nil {
				return err
			}
			open++
		}
		if open == 0 {
			return nil
		}
	}
}

func (p *hostingChecker) check(at *server, b books) error {
	var has, onPlatform, ofAccount, wanted []string
	for _, site := range hostedSites {
		if p.wanted[site] {
			wanted = append(wanted, site)
		}
		for _, v := range p.platform.Variables(p.config)[site] {
			has, onPlatform = append(has, site), append(onPlatform, account.HashAPIKey(v.Value))
			if status := p.asks(customer{server: at, key: v.Value}); status != http.StatusOK {
				return fmt.Errorf("the key in %s gets %d", site, status)
			}
		}
	}
	for _, key := range b.accounts[p.account.id].Keys {
		if len(key.SealedName) > 0 { // a key of a project
			ofAccount = append(ofAccount, key.Hash)
		}
	}
	for _, list := range [][]string{wanted, has, onPlatform, ofAccount} {
		slices.Sort(list)
	}
	if !slices.Equal(has, wanted) || !slices.Equal(onPlatform, ofAccount) {
		return fmt.Errorf("the projects %v have keys, want %v; the account %s has %d keys of projects", has, wanted,
			p.account.id, len(ofAccount))
	}
	return nil
}

func (p *hostingChecker) String() string {
	return fmt.Sprintf("hosting: %d changes, %d of them unanswered", p.changes, p.unanswered)
}

// host starts a hosting platform, over TLS if secure, and returns the flags of an instance that uses it.
func (w *world) host(t *testing.T, secure bool) []string {
	t.Helper()
	platform, flags := openPlatform(t)
	w.platform = platform
	if !secure {
		return flags
	}
	to, err := url.Parse(platform.URL())
	require.NoError(t, err)
	front := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(to)) // all such servers have the same certificate
	t.Cleanup(front.Close)
	return append(flags, "--hosting-url="+front.URL)
}
