package accounts

import (
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

type newKeyRequest struct {
	Type string `query:"type" enum:"integration_1,integration_2,integration_3" doc:"The integration that the key is for: the key gets its name."`
}

type apiKeyResponse struct {
	APIKey string `json:"apikey" doc:"The API key. It is shown in this reply only."`
	Masked string `json:"masked" doc:"The masked form, by which the key is listed, renamed and revoked."`
}

func (a *API) newKey(call *web.Call, in newKeyRequest) (web.Reply, error) {
	made, err := a.Accounts.CreateKey(call, call.Principal.Account, in.Type, writeapi.Origin(call.Caller))
	if err != nil {
		return web.Reply{}, err
	}
	writeapi.AwaitVisible(call, a.ReadModels, made.Position)
	return web.JSON(apiKeyResponse{APIKey: made.Key, Masked: made.Masked}).WithHeader("Cache-Control", "no-store"), nil
}

type renameKeyRequest struct {
	Masked string `path:"masked" doc:"The masked form of the key, as GET /v1/account lists it." example:"ak_...4fG7"`
	Name   string `body:"name" required:"true" minlen:"1" maxlen:"200" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]*$" doc:"Without control characters." example:"Website"`
}

func (a *API) renameKey(call *web.Call, in renameKeyRequest) (web.Reply, error) {
	return a.done(call)(a.Accounts.RenameKey(call, call.Principal.Account, in.Masked, in.Name, writeapi.Origin(call.Caller)))
}

type revokeKeyRequest struct {
	Masked string `path:"masked" doc:"The masked form of the key, as GET /v1/account lists it." example:"ak_...4fG7"`
}

// revokeKey may revoke the key that it was asked with.
func (a *API) revokeKey(call *web.Call, in revokeKeyRequest) (web.Reply, error) {
	return a.done(call)(a.Accounts.RevokeKey(call, call.Principal.Account, in.Masked, writeapi.Origin(call.Caller)))
}
