// Package writetest provides shared parts of the tests of write routes: admin routes on a real server, and a stand-in
// for the read models that records which of them were awaited.
package writetest

import (
	"context"
	"net/http"
	"testing"

	"github.com/recital-tts/recital/internal/access/operators"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
)

// Models stands in for the read models.
type Models struct {
	Err   error // of Wait
	Names []readmodel.Model
}

// Wait implements writeapi.ReadModels.
func (m *Models) Wait(_ context.Context, _ eventlog.Position, models ...readmodel.Model) error {
	m.Names = models
	return m.Err
}

// Admin is a server of admin routes. The operators' token is "op", the auditors' "au".
type Admin struct {
	Models *Models
	t      testing.TB
	url    string
}

// Serve serves routes, which wait for the given Models.
func Serve(t testing.TB, routes func(*Models) []web.Route) *Admin {
	t.Helper()
	a := &Admin{Models: &Models{}, t: t}
	a.url = webtest.Serve(t, web.Config{
		Routes: routes(a.Models), Tokens: []operators.Token{operators.Single("operator", "op"),
			operators.Single("auditor", "au")},
	})
	return a
}

// Post posts JSON with a token and returns the response and its body.
func (a *Admin) Post(path, token, body string) (*http.Response, string) {
	a.t.Helper()
	return a.Send(http.MethodPost, path, token, body)
}

// Send sends JSON with a token and returns the response and its body.
func (a *Admin) Send(method, path, token, body string) (*http.Response, string) {
	a.t.Helper()
	return webtest.Send(a.t, method, a.url+path, body, "Authorization", "Bearer "+token, "x-recital-reason", "Ticket 7")
}
