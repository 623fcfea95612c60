package accounts

import (
	"github.com/recital-tts/recital/internal/readmodel"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/writeapi"
)

// Routes are the rows for the public route table.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Delete("/v1/account/api_key/{masked}", a.revokeKey, web.ReadModels(readmodel.Account), web.Tag("Account"), web.Summary("Revoke an API key"),
			web.Returns[writeapi.SuccessResponse](), web.Refuses(404)),
	}
}

type revokeKeyRequest struct {
	Masked string `path:"masked"`
}

// revokeKey may revoke the key that it was asked with.
func (a *API) revokeKey(call *web.Call, in revokeKeyRequest) (web.Reply, error) {
	position, err := a.Accounts.RevokeKey(call, call.Principal.Account, in.Masked, writeapi.Origin(call.Caller))
	if err != nil {
		return web.Reply{}, err
	}
	writeapi.AwaitVisible(call, a.ReadModels, position)
	return web.JSON(writeapi.SuccessResponse{Success: true}), nil
}
