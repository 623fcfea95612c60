// Package accounts serves the routes that change accounts.
package accounts

import (
	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

// API changes accounts.
type API struct {
	Accounts   *accounts.Accounts
	ReadModels writeapi.ReadModels
}

type openRequest struct {
	Plan string `body:"plan" default:"free" literal:"free,indie,pro,premium,enterprise"`
}

type openResponse struct {
	AccountID string `json:"account_id"`
	Plan      string `json:"plan"`
	APIKey    string `json:"apikey"` // shown here only
	Masked    string `json:"masked"`
}

func (a *API) open(call *web.Call, in openRequest) (web.Reply, error) {
	opened, err := a.Accounts.Open(call, in.Plan, writeapi.Origin(call.Caller))
	if err != nil {
		return web.Reply{}, err
	}
	writeapi.AwaitVisible(call, a.ReadModels, opened.Key.Position)
	response := openResponse{AccountID: opened.Account, Plan: in.Plan, APIKey: opened.Key.Key, Masked: opened.Key.Masked}
	return web.JSON(response).WithHeader("Cache-Control", "no-store"), nil
}
