package accounts

import (
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

type nothing = struct{}

// close closes the account: the credential that it is asked with is refused from then on.
func (a *API) close(call *web.Call, _ nothing) (web.Reply, error) {
	reply, err := a.done(call)(a.Accounts.Close(call, call.Principal.Account, writeapi.Origin(call.Caller)))
	if err == nil && call.Principal.Session != "" {
		call.ClearSessionCookie()
	}
	return reply, err
}

func (a *API) acceptTerms(call *web.Call, _ nothing) (web.Reply, error) {
	return a.done(call)(a.Accounts.AcceptTerms(call, call.Principal.Account, writeapi.Origin(call.Caller)))
}

type emailPreferencesRequest struct {
	WantsEmail bool `body:"wants_email" required:"true" doc:"Whether the owner wants e-mail." example:"true"`
}

func (a *API) setEmailPreferences(call *web.Call, in emailPreferencesRequest) (web.Reply, error) {
	return a.done(call)(a.Accounts.SetEmailPreferences(call, call.Principal.Account, in.WantsEmail, writeapi.Origin(call.Caller)))
}

// done returns the reply to a command: success, once the route's read models show what it has changed.
func (a *API) done(call *web.Call) func(eventlog.Position, error) (web.Reply, error) {
	return func(position eventlog.Position, err error) (web.Reply, error) {
		if err != nil {
			return web.Reply{}, err
		}
		writeapi.AwaitVisible(call, a.ReadModels, position)
		return web.JSON(writeapi.SuccessResponse{Success: true}), nil
	}
}
