// Package webtest serves routes on a real server in the tests of packages that define them.
package webtest

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/docs"
	"github.com/recital-tts/recital/internal/http/web/openapi"
	"github.com/recital-tts/recital/internal/http/web/openapi/openapitest"
)

// patience bounds the shutdown of a server on a busy machine.
const patience = time.Minute

// Main runs a package's tests. It fails if they leak goroutines, or if a reply does not match its route's declaration.
// It ignores two goroutines of fasthttp: its clock, and the cleaner of a worker pool that sleeps before it ends.
func Main(m *testing.M) {
	goleak.VerifyTestMain(openapitest.Checked(m),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// Serve runs a server until the test ends and returns its URL. Like recitald, it generates its description, so all
// routes have to declare their replies. Without a logger it does not log.
func Serve(t testing.TB, config web.Config) string {
	t.Helper()
	return ServeAs(t, docs.Public(""), config)
}

// ServeAs is Serve with another description.
func ServeAs(t testing.TB, info openapi.Info, config web.Config) string {
	t.Helper()
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Record == nil {
		config.Record = func(*web.Call, web.Act, string) error { return nil }
	}
	described, err := docs.Routes(info, config.Routes)
	require.NoError(t, err)
	config.Routes = slices.Concat(config.Routes, described)
	server, err := web.NewServer(config)
	require.NoError(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, server.Shutdown(ctx))
		require.NoError(t, <-served)
	})
	return "http://" + ln.Addr().String()
}

// Keys is an Authenticator that accepts each key for the account with the key's name.
type Keys struct{}

// APIKey implements web.Authenticator.
func (Keys) APIKey(_ context.Context, key string) (web.Principal, error) {
	return web.Principal{Account: key, Key: "masked"}, nil
}

// Send sends a request with headers, given as names and values, and returns the response and its body. It omits headers
// with an empty value.
func Send(t require.TestingT, method, url, body string, headers ...string) (*http.Response, string) {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] != "" {
			request.Header.Set(headers[i], headers[i+1])
		}
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(got)
}
