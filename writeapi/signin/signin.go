// Package signin serves the sign-in by identity providers: a browser is redirected to a provider, returns with an
// answer, and gets the cookie of a session.
package signin

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/recital-tts/recital/commands/journal"
	commands "github.com/recital-tts/recital/commands/signin"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/providers/signin"
	"github.com/recital-tts/recital/writeapi"
)

// API signs browsers in and out.
type API struct {
	Flow       *signin.Flow
	SignIns    *commands.SignIns
	Sessions   Sessions
	Links      links.Links
	ReadModels writeapi.ReadModels
	Logger     *slog.Logger

	// Failed is called when a sign-in has failed. No event records it, because strangers could fill the log with them.
	Failed func(provider string, reason signin.Reason)
}

// Sessions ends sessions.
type Sessions interface {
	// EndShown ends the session of a cookie, if it is live. The position is zero if no session was ended.
	EndShown(ctx context.Context, cookie string, origin journal.Origin) (eventlog.Position, error)
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	tag, goes := web.Tag("Sign-in"), web.Sends("location", "cache-control")
	return []web.Route{
		web.Get("/auth/oauth/login", a.login, web.Public(), web.Appends(), tag, web.Summary("Begin to sign in"),
			web.Description("Sends the browser to the identity provider and finally to `redirect`, with an allowed "+
				"origin. After a failure "+
				"the redirect has the parameters `error` and `error_description`."),
			web.Meanings(map[string]string{"redirect": "where the browser goes finally",
				"utm_source": "the source of the visit; it is stored with the sign-in"}),
			web.ReturnsNothing(http.StatusFound, goes), web.Refuses(400, 403)),
		web.Get("/auth/oauth/{provider}", a.callback, web.Public(), web.Appends(),
			web.ReadModels(readmodel.Account, readmodel.Sessions), tag, web.Summary("Return from the identity provider"),
			web.Description("The provider sends the browser here. `code` is needed unless there is an `error`."),
			web.ReturnsNothing(http.StatusFound, goes, web.MaySend("x-recital-position", "x-recital-stale")), web.Refuses(400)),
		web.Get("/auth/oauth/logout", a.logout, web.Optional(), web.Appends(), web.Navigable(), tag,
			web.Summary("End the session of this browser"),
			web.Description("A link or a typed address signs out, and so does a page of the service or of an allowed origin. "+
				"A page of another origin must make the browser "+
				"send the cookie (`credentials: \"include\"`): without one the reply is 401. With `redirect`, of an allowed "+
				"origin, the browser goes there."),
			web.Meanings(map[string]string{"redirect": "where the browser goes finally"}),
			web.Returns[writeapi.SuccessResponse](web.MaySend("x-recital-position")),
			web.ReturnsNothing(http.StatusFound, goes, web.MaySend("x-recital-position")), web.Refuses(400, 401, 403)),
	}
}

type loginRequest struct {
	Provider  string `query:"provider" required:"true" enum:"idp_1,idp_2,idp_3,idp_4" doc:"The identity provider." example:"idp_1"`
	Redirect  string `query:"redirect" required:"true" url:"http" minlen:"1" maxlen:"2083" doc:"Where the browser goes after the sign-in. Its origin must be allowed." example:"http://localhost:3000/welcome"`
	UTMSource source `query:"utm_source" doc:"Where the visitor came from, for statistics."`
}

// source is the source of a person's visit. It is cut after 256 characters.
type source string

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *source) UnmarshalText(text []byte) error {
	const longest = 256
	characters := []rune(string(text))
	*s = source(characters[:min(longest, len(characters))])
	return nil
}

var errNotAWindow = domain.Refuse(domain.Denied, "A sign-in begins when the browser navigates here: it cannot be "+
	"loaded by a page, or prefetched")

func (a *API) login(call *web.Call, in loginRequest) (web.Reply, error) {
	if call.Loaded() {
		return web.Reply{}, errNotAWindow
	}
	callback, err := a.callbackURL(call, in.Provider)
	if err != nil {
		return web.Reply{}, err
	}
	begun, err := a.Flow.Begin(call, signin.Beginning{Provider: in.Provider, Redirect: in.Redirect,
		UTMSource: string(in.UTMSource), Callback: callback})
	switch {
	case errors.Is(err, signin.ErrRedirect):
		return web.Reply{}, call.Invalid("redirect", "the origin is not allowed, or it is too long")
	case errors.Is(err, signin.ErrNoProvider):
		return web.Reply{}, call.Invalid("provider", "the provider is not configured")
	case err != nil:
		return a.fail(call, in.Provider, in.Redirect, err), nil
	}
	cookies := cookiesOf(callback)
	reply := leave(begun.Location).WithHeader("Set-Cookie", cookies.set(cookies.name(begun.State), begun.Kept))
	for _, name := range a.Flow.Surplus(cookies.read(call), begun.Kept) {
		reply = reply.WithHeader("Set-Cookie", cookies.set(name, ""))
	}
	return reply, nil
}

// fail redirects the browser with the reason of an error.
func (a *API) fail(call *web.Call, provider, redirect string, err error) web.Reply {
	return leave(signin.WithReason(redirect, a.failed(call, provider, err)))
}

// failed records that a sign-in has failed, and returns the reason. Strangers can make sign-ins fail, so that only
// failures of the service and of the provider are warnings.
func (a *API) failed(call *web.Call, provider string, err error) signin.Reason {
	reason := signin.ReasonOf(err)
	a.Failed(provider, reason)
	level := slog.LevelInfo
	if reason == signin.ServerError || reason == signin.Unavailable {
		level = slog.LevelWarn
	}
	a.Logger.Log(call, level, "a sign-in failed", "provider", provider, "reason", reason, "request_id", call.RequestID,
		"error", err)
	return reason
}

type callbackRequest struct {
	Provider         string `path:"provider" enum:"idp_1,idp_2,idp_3,idp_4" doc:"The identity provider." example:"idp_1"`
	Code             string `query:"code" required:"true" unless:"error" doc:"The code that the provider issued for the sign-in. Absent with error." example:"4a6b8c"`
	State            string `query:"state" required:"true" doc:"The state of the sign-in." example:"Zm9v"`
	Error            string `query:"error" doc:"Why the provider refused, in a word, such as access_denied."`
	ErrorDescription string `query:"error_description" doc:"ignored"`
	Issuer           string `query:"iss" doc:"the issuer of the answer (RFC 9207)"`
}

func (a *API) callback(call *web.Call, in callbackRequest) (web.Reply, error) {
	callback, err := a.callbackURL(call, in.Provider)
	if err != nil {
		return web.Reply{}, err
	}
	cookies := cookiesOf(callback)
	name := cookies.name(in.State)
	kept := cookies.read(call)[name]
	if kept != "" {
		call.SetHeader("Set-Cookie", cookies.set(name, "")) // a sign-in ends once, with any outcome
	}
	answered, err := a.Flow.Finish(call, signin.Answer{
		Provider: in.Provider, Callback: callback, State: in.State, Kept: kept, Code: in.Code, Issuer: in.Issuer,
		Error: in.Error,
	})
	if errors.Is(err, signin.ErrUnusable) {
		return web.Reply{}, domain.Refuse(domain.Invalid, a.failed(call, in.Provider, err).Text())
	}
	if answered.Redirect == "" {
		return web.Reply{}, err
	}
	if err == nil {
		err = a.enter(call, in.Provider, answered, !signin.SameSite(answered.Redirect, callback))
	}
	if err != nil {
		return a.fail(call, in.Provider, answered.Redirect, err), nil
	}
	return leave(answered.Redirect), nil
}

// enter replaces the browser's session with one of the person's account.
func (a *API) enter(call *web.Call, provider string, answered signin.Answered, crossSite bool) error {
	opened, position, err := a.SignIns.SignIn(call, commands.Arrival{
		Person: answered.Person, UTMSource: answered.UTMSource,
		Client: session.Client{UserAgent: call.Header("User-Agent"), Address: call.RemoteIP(), Country: call.Country(),
			Provider: provider, CrossSite: crossSite},
	}, writeapi.Origin(call.Caller))
	if err != nil {
		return err
	}
	ended, err := a.Sessions.EndShown(call, call.SessionCookie(), writeapi.Origin(call.Caller))
	if err != nil {
		return err
	}
	call.SetSessionCookie(opened.Cookie, opened.ExpiresAt, crossSite)
	writeapi.AwaitVisible(call, a.ReadModels, journal.Later(position, ended))
	return nil
}

type logoutRequest struct {
	Redirect string `query:"redirect" url:"http" minlen:"1" maxlen:"2083" doc:"Where the browser goes then. Its origin must be allowed."`
}

// errNoSession refuses a page that would get a success while the session stays live.
var errNoSession = domain.Refuse(domain.Unauthenticated,
	"The browser has sent no session, though it may have one: browsers send cookies for pages of another origin only on "+
		"request, and block those of other sites")

// logout succeeds without a session, too, if the browser would have sent the cookie of one.
func (a *API) logout(call *web.Call, in logoutRequest) (web.Reply, error) {
	reply, err := a.loggedOut(call, in.Redirect)
	switch {
	case err != nil:
		return web.Reply{}, err
	case call.SessionShown() == "" && call.LoadedElsewhere():
		return web.Reply{}, errNoSession
	}
	position, err := a.Sessions.EndShown(call, call.SessionCookie(), writeapi.Origin(call.Caller))
	if err != nil {
		return web.Reply{}, err
	}
	if position != (eventlog.Position{}) {
		call.SetPosition(position.String())
	}
	call.ClearSessionCookie()
	return reply, nil
}

// loggedOut returns the reply to a browser that is signed out.
func (a *API) loggedOut(call *web.Call, redirect string) (web.Reply, error) {
	if redirect == "" {
		return web.JSON(writeapi.SuccessResponse{Success: true}), nil
	}
	home, err := a.callbackURL(call, "logout")
	if err != nil {
		return web.Reply{}, err
	}
	admitted, ok := a.Flow.Origins.Admit(redirect, home)
	if !ok {
		return web.Reply{}, call.Invalid("redirect", "the origin is not allowed")
	}
	return leave(admitted), nil
}

// leave redirects the browser. The current address has a code or a state, which must not be disclosed as a referrer.
func leave(location string) web.Reply {
	return web.Redirect(http.StatusFound, location).WithHeader("Cache-Control", "no-store").WithHeader("Referrer-Policy",
		"no-referrer")
}

// callbackURL returns the address to which the provider redirects the browser. Without a public URL it has the
// requested host, which is trusted if it is this machine.
func (a *API) callbackURL(call *web.Call, provider string) (string, error) {
	host := call.Header("Host")
	if a.Links.Base() == "" && !signin.IsLoopback(host) {
		return "", domain.Refuse(domain.Invalid, "Without a public URL (RECITAL_PUBLIC_URL) only browsers on this machine "+
			"can sign in, at http://127.0.0.1 or http://localhost")
	}
	return a.Links.To(host, "/auth/oauth/"+provider), nil
}
