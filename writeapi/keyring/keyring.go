// Package keyring serves the operators' hand on the keyring of the log.
package keyring

import (
	"github.com/recital-tts/recital/commands/keyring"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/writeapi"
)

// API shows and changes which keyring is the log's.
type API struct {
	Keyring *keyring.Keyring
}

// AdminRoutes are the rows for the admin route table.
func (a *API) AdminRoutes() []web.Route {
	return []web.Route{
		web.Get("/admin/keyring", a.show, web.Role("operator", "auditor"), web.Tag("Operators"),
			web.Summary("The keyring of the log, and the one in Postgres"), web.Returns[idsReply]()),
		web.Post("/admin/keyring/abandon", a.abandon, web.Role("operator"), web.Tag("Operators"),
			web.Summary("Give the log's keyring up for the one in Postgres"),
			web.Description("What it sealed (texts of clips, feedback) is lost for ever. The log records who did it. Doing so again has no effect."),
			web.Returns[idsReply](), web.Refuses(409)),
	}
}

type idsReply struct {
	Log      string `json:"log"`      // "" before the first start with a Postgres
	Postgres string `json:"postgres"` // "" if the keyring there has no id: it is empty, or of an earlier release
}

func (a *API) show(call *web.Call, _ struct{}) (web.Reply, error) {
	ids, err := a.Keyring.IDs(call)
	return web.JSON(idsReply{Log: ids.Log, Postgres: ids.Store}), err
}

type abandonRequest struct {
	Keyring string `body:"keyring" doc:"id of the log's keyring"`
}

func (a *API) abandon(call *web.Call, in abandonRequest) (web.Reply, error) {
	position, err := a.Keyring.Abandon(call, in.Keyring, writeapi.Origin(call.Caller))
	if err != nil {
		return web.Reply{}, err
	}
	call.SetPosition(position.String())
	return a.show(call, struct{}{})
}
