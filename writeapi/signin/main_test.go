package signin_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/sessions"
	commands "github.com/recital-tts/recital/commands/signin"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/access/keyring/memkeys"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/internal/providers/signin"
	"github.com/recital-tts/recital/internal/providers/signin/openid"
	"github.com/recital-tts/recital/internal/standins"
	"github.com/recital-tts/recital/internal/standins/devidp"
	"github.com/recital-tts/recital/internal/testing/testlog"
	writeapi "github.com/recital-tts/recital/writeapi/signin"
	"github.com/recital-tts/recital/writeapi/writetest"
)

func TestMain(m *testing.M) { webtest.Main(m) }

// site serves the routes of sign-in on a real server, over a real log, database and provider.
type site struct {
	*commandstest.World
	sessions *sessions.Sessions
	accounts *accounts.Accounts
	models   *writetest.Models
	logged   *testlog.Buffer
	failed   sync.Map // provider and reason of a failed sign-in: *atomic.Int64
	url      string
}

func (s *site) count(provider string, reason signin.Reason) {
	count, _ := s.failed.LoadOrStore(provider+" "+string(reason), &atomic.Int64{})
	count.(*atomic.Int64).Add(1)
}

// failures returns the number of failed sign-ins by provider and reason.
func (s *site) failures() map[string]int64 {
	all := map[string]int64{}
	s.failed.Range(func(of, count any) bool {
		all[of.(string)] = count.(*atomic.Int64).Load()
		return true
	})
	return all
}

// failedLine matches the log line of a failed sign-in. It has neither the person's name nor an address, and is no
// warning if a stranger can cause it.
var failedLine = regexp.MustCompile(`(?m)^time=\S+ level=(WARN msg="a sign-in failed" provider=idp_[12] ` +
	`reason=(server_error|temporarily_unavailable)|INFO msg="a sign-in failed" provider=idp_[12] ` +
	`reason=(access_denied|invalid_answer|profile_incomplete|email_unverified|not_under_way)) ` +
	`request_id=req_\w+ error=".*"$`)

// serve serves the routes at a public URL, "" for the host of the request.
func serve(t *testing.T, public string, providers map[string]signin.Provider) *site {
	t.Helper()
	s := &site{World: commandstest.New(t), models: &writetest.Models{}, logged: &testlog.Buffer{}}
	log := slog.New(slog.NewTextHandler(s.logged, nil))
	keys := memkeys.New()
	s.accounts = accounts.New(s.Journal, time.Now)
	s.accounts.SealWith(keys)
	s.sessions = sessions.New(sessions.Config{
		Journal: s.Journal, Keys: keys, Accounts: s.accounts, Now: time.Now, Logger: log,
		Limits: sessions.Limits{Length: time.Hour, Idle: time.Hour, Rotate: time.Hour, Live: 3},
	})
	origins, err := signin.ParseOrigins([]string{"https://app.example.com", "https://app.example.org"})
	require.NoError(t, err)
	if providers == nil {
		providers = development(t)
	}
	api := writeapi.API{
		Failed: s.count,
		Flow:   &signin.Flow{Providers: providers, Origins: origins, Key: bytes.Repeat([]byte{2}, 32), Now: time.Now},
		SignIns: commands.New(commands.Config{
			Journal: s.Journal, Keys: keys, Accounts: s.accounts, Sessions: s.sessions,
			FreePeriods: noPeriods{},
			DrawAccount: accounts.NewAccountID, Now: time.Now,
		}),
		Sessions: s.sessions, Links: links.New(public, []byte("key")), ReadModels: s.models, Logger: log,
	}
	s.url = webtest.Serve(t, web.Config{Routes: api.Routes(), Authenticator: oneKey("rk_one"), Sessions: s,
		Origins: origins.Serialized(), PlainCookies: public == "", Logger: log})
	return s
}

func development(t *testing.T) map[string]signin.Provider {
	t.Helper()
	ln, err := standins.Listen("127.0.0.1:0")
	require.NoError(t, err)
	names := []string{"idp_1", "idp_2"}
	server, err := devidp.New(ln, names, "api.example.com", "")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Run(context.Background()) }()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		require.NoError(t, <-served)
	})
	providers := map[string]signin.Provider{}
	for _, name := range names {
		provider, err := openid.New(openid.Config{Issuer: server.Issuer(name), ClientID: devidp.ClientID,
			ClientSecret: server.ClientSecret()})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, provider.Close()) })
		providers[name] = provider
	}
	return providers
}

type noPeriods struct{}

func (noPeriods) FreePeriodOf(context.Context, string) (*account.FreePeriod, error) { return nil, nil }

// oneKey is the only API key, of an account of its own.
type oneKey string

// APIKey implements web.Authenticator.
func (k oneKey) APIKey(_ context.Context, key string) (web.Principal, error) {
	if key == string(k) {
		return web.Principal{Account: "other", Key: "rk_…one"}, nil
	}
	return web.Principal{}, domain.Refuse(domain.Unauthenticated, "no key")
}

// Session implements web.Sessions with the streams of sessions.
func (s *site) Session(_ context.Context, cookie string, _ web.SessionUse) (web.Session, error) {
	shown, ok := session.ParseCookie(cookie)
	if !ok {
		return web.Session{}, domain.Refuse(domain.Unauthenticated, "no session")
	}
	var state session.State
	for _, event := range commandstest.Fold[session.Event](s.World, session.Stream(shown.ID)) {
		state = session.Evolve(state, event)
	}
	if !state.Exists() || state.Ended || state.SecretHash != shown.Hash() {
		return web.Session{}, domain.Refuse(domain.Unauthenticated, "no session")
	}
	return web.Session{Principal: web.Principal{Account: state.Account, Session: shown.ID}}, nil
}

// page is the reply to a request; redirects are not followed.
type page struct {
	status  int
	header  http.Header
	body    string
	cookies []*http.Cookie
}

// get requests an address with headers, given as names and values.
func (s *site) get(method, address string, headers ...string) page {
	s.T.Helper()
	request, err := http.NewRequest(method, address, nil)
	require.NoError(s.T, err)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		}
	}
	return s.do(request)
}

func (s *site) do(request *http.Request) page {
	s.T.Helper()
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(s.T, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(s.T, err)
	return page{response.StatusCode, response.Header, string(body), response.Cookies()}
}

// login begins a sign-in.
func (s *site) login(redirect string, headers ...string) page {
	s.T.Helper()
	return s.get("GET", s.url+"/auth/oauth/login?provider=idp_1&utm_source=letter&redirect="+url.QueryEscape(redirect),
		headers...)
}

// answer fills in the provider's page, and returns the address to which the provider sends the browser.
func (s *site) answer(login page, fault string) *url.URL {
	s.T.Helper()
	require.Equal(s.T, http.StatusFound, login.status, login.body)
	form := url.Values{"name": {"Ada Lovelace"}, "email": {"ada@example.com"}, "fault": {fault}}
	request, err := http.NewRequest("POST", login.header.Get("Location"), strings.NewReader(form.Encode()))
	require.NoError(s.T, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answered := s.do(request)
	require.Equal(s.T, http.StatusSeeOther, answered.status, answered.body)
	back, err := url.Parse(answered.header.Get("Location"))
	require.NoError(s.T, err)
	return back
}

func cookieNamed(p page, name string) *http.Cookie {
	for _, c := range p.cookies {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func shown(cookies ...*http.Cookie) string {
	var pairs []string
	for _, c := range cookies {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	return strings.Join(pairs, "; ")
}

// keptBy returns the cookie of the sign-in that a browser has begun.
func keptBy(login page) *http.Cookie {
	for _, c := range login.cookies {
		if strings.Contains(c.Name, "svc-oauth") && c.Value != "" {
			return c
		}
	}
	return nil
}
