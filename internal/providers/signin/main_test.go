package signin_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/providers/signin"
	"github.com/recital-tts/recital/internal/providers/signin/openid"
	"github.com/recital-tts/recital/internal/standins"
	"github.com/recital-tts/recital/internal/standins/devidp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is the address of the relying party. Providers accept a callback on loopback, where nothing needs to listen.
const client = "http://127.0.0.1:1"

// desk is a flow against real providers.
type desk struct {
	*signin.Flow
	t       testing.TB
	browser *http.Client

	mu  sync.Mutex
	now time.Time
}

func newDesk(t testing.TB, providers map[string]signin.Provider) *desk {
	t.Helper()
	origins, err := signin.ParseOrigins([]string{"https://app.example.com"})
	require.NoError(t, err)
	d := &desk{t: t, now: time.Now(), browser: newBrowser(t)}
	d.Flow = &signin.Flow{Providers: providers, Origins: origins, Key: bytes.Repeat([]byte{1}, 32), Now: d.time}
	return d
}

func (d *desk) time() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *desk) advance(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(by)
}

// newBrowser follows redirects until it is sent to the relying party.
func newBrowser(t testing.TB) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := &http.Client{Jar: jar, Transport: &http.Transport{}}
	browser.CheckRedirect = func(request *http.Request, _ []*http.Request) error {
		if request.URL.Host == "127.0.0.1:1" {
			return http.ErrUseLastResponse
		}
		return nil
	}
	t.Cleanup(browser.CloseIdleConnections)
	return browser
}

// development returns the provider for development under two names.
func development(t testing.TB) map[string]signin.Provider {
	t.Helper()
	ln, err := standins.Listen("127.0.0.1:0")
	require.NoError(t, err)
	server, err := devidp.New(ln, []string{"idp_1", "idp_2"}, "", "")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Run(context.Background()) }()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		require.NoError(t, <-served)
	})
	providers := map[string]signin.Provider{}
	for _, name := range []string{"idp_1", "idp_2"} {
		providers[name] = relyingParty(t, openid.Config{
			Issuer: server.Issuer(name), ClientID: devidp.ClientID, ClientSecret: server.ClientSecret(),
		})
	}
	return providers
}

func relyingParty(t testing.TB, config openid.Config) *openid.Provider {
	t.Helper()
	provider, err := openid.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, provider.Close()) })
	return provider
}

func beginning() signin.Beginning {
	return signin.Beginning{
		Provider: "idp_1", Redirect: "https://app.example.com/in?from=here", UTMSource: "letter",
		Callback: client + "/auth/oauth/idp_1",
	}
}

// begin begins a sign-in at a provider.
func (d *desk) begin(change ...func(*signin.Beginning)) signin.Begun {
	d.t.Helper()
	b := beginning()
	for _, f := range change {
		f(&b)
	}
	begun, err := d.Begin(d.t.Context(), b)
	require.NoError(d.t, err)
	return begun
}

// visit fills in the login page of the provider for development, and returns what the browser brings back.
func (d *desk) visit(begun signin.Begun, fault string) signin.Answer {
	d.t.Helper()
	return d.post(begun, begun.Location, url.Values{
		"name": {"Ada Lovelace"}, "email": {"ada@example.com"}, "fault": {fault},
	})
}

func (d *desk) post(begun signin.Begun, page string, form url.Values) signin.Answer {
	d.t.Helper()
	response, err := d.browser.PostForm(page, form)
	require.NoError(d.t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(d.t, err)
	require.NoError(d.t, response.Body.Close())
	back, err := response.Location()
	require.NoError(d.t, err, "%d %s", response.StatusCode, body)
	require.Equal(d.t, client+"/auth/oauth/idp_1", back.Scheme+"://"+back.Host+back.Path)
	query := back.Query()
	return signin.Answer{
		Provider: "idp_1", Callback: client + "/auth/oauth/idp_1", State: query.Get("state"), Kept: begun.Kept,
		Issuer: query.Get("iss"), Error: query.Get("error"), Code: query.Get("code"),
	}
}
