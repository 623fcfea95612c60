// Package sessions serves the routes that end the sessions of browsers.
package sessions

import (
	"context"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

// API ends sessions.
type API struct {
	Sessions   *sessions.Sessions
	Accounts   Accounts
	ReadModels writeapi.ReadModels
}

// Accounts ends all sessions of an account.
type Accounts interface {
	RevokeSessions(ctx context.Context, account string, origin journal.Origin) (eventlog.Position, error)
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	shown, tag, returns := web.ReadModels(readmodel.Sessions), web.Tag("Account"), web.Returns[writeapi.SuccessResponse]()
	return []web.Route{
		web.Delete("/v1/account/sessions/{session_public_id}", a.revoke, shown, tag, web.Summary("Sign a browser out"),
			web.Description("The session ends immediately. API keys stay valid."), returns, web.Refuses(404)),
		web.Post("/v1/account/sessions/revoke_all", a.revokeAll, shown, tag,
			web.Summary("Sign all browsers out, including the own one"),
			web.Description("API keys stay valid."), returns),
	}
}

type revokeRequest struct {
	ID string `path:"session_public_id" doc:"The public id of the session, as GET /v1/account/sessions lists it." example:"ses_8c1f0e2d"`
}

// revoke may end the session of its own request.
func (a *API) revoke(call *web.Call, in revokeRequest) (web.Reply, error) {
	position, err := a.Sessions.End(call, call.Principal.Account, in.ID, writeapi.Origin(call.Caller))
	return a.ended(call, position, err, in.ID == call.Principal.Session)
}

func (a *API) revokeAll(call *web.Call, _ struct{}) (web.Reply, error) {
	position, err := a.Accounts.RevokeSessions(call, call.Principal.Account, writeapi.Origin(call.Caller))
	return a.ended(call, position, err, call.Principal.Session != "")
}

// ended replies once the read models do not show the session any more. If it is the caller's own, its cookie is
// cleared.
func (a *API) ended(call *web.Call, position eventlog.Position, err error, own bool) (web.Reply, error) {
	if err == nil && own {
		call.ClearSessionCookie()
	}
	return writeapi.Done(call, a.ReadModels, position, err)
}
