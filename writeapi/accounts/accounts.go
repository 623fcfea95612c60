// Package accounts serves the routes that change accounts.
package accounts

import (
	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	shown, tag, success := web.ReadModels(readmodel.Account), web.Tag("Account"), web.Returns[writeapi.SuccessResponse]()
	return []web.Route{
		web.Delete("/v1/account", a.close, shown, tag, success, web.Summary("Close the account permanently"),
			web.Description("Its API keys and sessions end immediately, including open streams. Clips are deleted, and "+
				"all personal data becomes unreadable.")),
		web.Get("/v1/account/new_api_key", a.newKey, shown, tag, web.Appends(), web.FreeChange(),
			web.Summary("Create an API key, which only this reply shows"),
			web.Description("Store the key: later replies only have its masked form."),
			web.Returns[apiKeyResponse](web.Sends("cache-control")), web.Refuses(403)),
		web.Post("/v1/account/api_key/{masked}/name", a.renameKey, web.FreeChange(), shown, tag, success,
			web.Summary("Rename an API key"), web.Description("Names are for people and need not be unique."), web.Refuses(404)),
		web.Delete("/v1/account/api_key/{masked}", a.revokeKey, shown, tag, success, web.Summary("Revoke an API key"),
			web.Description("The key is refused from then on, and its open streams end. This cannot be undone."),
			web.Refuses(404)),
		web.Post("/v1/account/accept_tos", a.acceptTerms, shown, tag, success, web.Summary("Accept the terms of service"),
			web.Description("Records that the owner accepted the terms. A repetition has no effect.")),
		web.Post("/v1/account/set_email_prefs", a.setEmailPreferences, web.FreeChange(), shown, tag, success,
			web.FormBody(), web.Summary("Set whether the owner wants e-mail"),
			web.Description("The latest choice counts.")),
	}
}

// AdminRoutes returns the rows for the admin route table.
func (a *API) AdminRoutes() []web.Route {
	operators, tag, shown := web.Role("operator"), web.Tag("Operators"), web.ReadModels(readmodel.Account)
	return []web.Route{
		web.Post("/admin/accounts", a.open, operators, shown, tag, web.Acts(web.Act{Own: true}),
			web.Summary("Open an account and give it an API key"),
			web.Returns[adminapi.OpenResponse](web.Sends("cache-control"))),
		web.Delete("/admin/accounts/{account_id}", a.closeOther, operators, shown, tag,
			web.Acts(web.Act{Own: true, Reasoned: true}),
			web.Summary("Close an account permanently"), web.Returns[writeapi.SuccessResponse](), web.Refuses(404)),
		web.Post("/admin/accounts/{account_id}/operator", a.setOperator(true), operators, shown, tag,
			web.Acts(web.Act{Own: true, Reasoned: true}), web.Summary("Grant an account the role of an operator"),
			web.Returns[adminapi.OperatorResponse](), web.Refuses(404, 409)),
		web.Delete("/admin/accounts/{account_id}/operator", a.setOperator(false), operators, shown, tag,
			web.Acts(web.Act{Own: true, Reasoned: true}), web.Summary("Withdraw the role of an operator from an account"),
			web.Returns[adminapi.OperatorResponse](), web.Refuses(404, 409)),
	}
}

type newKeyRequest struct {
	Type string `query:"type" enum:"integration_1,integration_2,integration_3" doc:"The integration that the key is for: the key gets its name."`
}

type apiKeyResponse struct {
	APIKey string `json:"apikey" doc:"The API key. Only this reply shows it."`
	Masked string `json:"masked" doc:"The masked form, by which the key is listed, renamed and revoked."`
}

func (a *API) newKey(call *web.Call, in newKeyRequest) (web.Reply, error) {
	made, err := a.Accounts.CreateKey(call, call.Principal.Account, in.Type, writeapi.Origin(call.Caller))
	response := apiKeyResponse{APIKey: made.Key, Masked: made.Masked}
	reply, err := writeapi.Visible(call, a.ReadModels, response, made.Position, err)
	return reply.WithHeader("Cache-Control", "no-store"), err
}

type renameKeyRequest struct {
	Masked string `path:"masked" doc:"The masked form of the key, as GET /v1/account lists it." example:"ak_...4fG7"`
	Name   string `body:"name" required:"true" minlen:"1" maxlen:"200" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]*$" doc:"Without control characters." example:"Website"`
}

func (a *API) renameKey(call *web.Call, in renameKeyRequest) (web.Reply, error) {
	position, err := a.Accounts.RenameKey(call, call.Principal.Account, in.Masked, in.Name,
		writeapi.Origin(call.Caller))
	return writeapi.Done(call, a.ReadModels, position, err)
}

type revokeKeyRequest struct {
	Masked string `path:"masked" doc:"The masked form of the key, as GET /v1/account lists it." example:"ak_...4fG7"`
}

// revokeKey may revoke the key of its own request.
func (a *API) revokeKey(call *web.Call, in revokeKeyRequest) (web.Reply, error) {
	position, err := a.Accounts.RevokeKey(call, call.Principal.Account, in.Masked, writeapi.Origin(call.Caller))
	return writeapi.Done(call, a.ReadModels, position, err)
}

// API changes accounts.
type API struct {
	Accounts   *accounts.Accounts
	ReadModels writeapi.ReadModels
}

type openRequest struct {
	Plan string `body:"plan" default:"free" literal:"free,indie,pro,premium,enterprise"`
}

func (a *API) open(call *web.Call, in openRequest) (web.Reply, error) {
	opened, err := a.Accounts.Open(call, in.Plan, writeapi.Origin(call.Caller))
	response := adminapi.OpenResponse{
		AccountID: opened.Account, Plan: in.Plan, APIKey: opened.Key.Key, Masked: opened.Key.Masked,
	}
	reply, err := writeapi.Visible(call, a.ReadModels, response, opened.Key.Position, err)
	return reply.WithHeader("Cache-Control", "no-store"), err
}

type operatorRequest struct {
	AccountID string `path:"account_id" maxlen:"64"`
}

// closeOther closes an account for an operator, even if the account's events cannot be decoded.
func (a *API) closeOther(call *web.Call, in operatorRequest) (web.Reply, error) {
	position, err := a.Accounts.Close(call, in.AccountID, writeapi.Origin(call.Caller))
	return writeapi.Done(call, a.ReadModels, position, err)
}

// setOperator returns a handler that grants or withdraws the role of an operator.
func (a *API) setOperator(operator bool) func(*web.Call, operatorRequest) (web.Reply, error) {
	return func(call *web.Call, in operatorRequest) (web.Reply, error) {
		position, err := a.Accounts.SetOperator(call, in.AccountID, operator, writeapi.Origin(call.Caller))
		response := adminapi.OperatorResponse{AccountID: in.AccountID, Operator: operator}
		return writeapi.Visible(call, a.ReadModels, response, position, err)
	}
}

type nothing = struct{}

// close closes the account. The credential of the request is refused from then on.
func (a *API) close(call *web.Call, _ nothing) (web.Reply, error) {
	position, err := a.Accounts.Close(call, call.Principal.Account, writeapi.Origin(call.Caller))
	if err == nil && call.Principal.Session != "" {
		call.ClearSessionCookie()
	}
	return writeapi.Done(call, a.ReadModels, position, err)
}

func (a *API) acceptTerms(call *web.Call, _ nothing) (web.Reply, error) {
	position, err := a.Accounts.AcceptTerms(call, call.Principal.Account, writeapi.Origin(call.Caller))
	return writeapi.Done(call, a.ReadModels, position, err)
}

type emailPreferencesRequest struct {
	WantsEmail bool `body:"wants_email" required:"true" doc:"Whether the owner wants e-mail." example:"true"`
}

func (a *API) setEmailPreferences(call *web.Call, in emailPreferencesRequest) (web.Reply, error) {
	position, err := a.Accounts.SetEmailPreferences(call, call.Principal.Account, in.WantsEmail,
		writeapi.Origin(call.Caller))
	return writeapi.Done(call, a.ReadModels, position, err)
}
