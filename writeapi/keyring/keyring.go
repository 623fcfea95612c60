// Package keyring serves the operators' hand on the keyring of the log.
package keyring

import (
	"time"

	"github.com/recital-tts/recital/commands/keyring"
	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

// API shows and changes which keyring is the log's, and copies it.
type API struct {
	Keyring *keyring.Keyring
	Inbox   Inbox // of a copy that is sent
}

const (
	maxPiece      = 1 << 20 // bytes of a copy in a request
	importTimeout = 30 * time.Minute
)

// AdminRoutes are the rows for the admin route table.
func (a *API) AdminRoutes() []web.Route {
	return []web.Route{
		web.Get("/admin/keyring", a.show, web.Role("operator", "auditor"), web.Tag("Operators"),
			web.Summary("The keyring of the log, and the one in Postgres"), web.Returns[idsReply]()),
		web.Post("/admin/keyring/abandon", a.abandon, web.Role("operator"), web.Tag("Operators"), web.Acts(web.Act{Own: true, Reasoned: true}),
			web.Summary("Give the log's keyring up for the one in Postgres"),
			web.Description("What it sealed (texts of clips, feedback) is lost for ever. The log records who did it. Doing so again has no effect."),
			web.Returns[idsReply](), web.Refuses(409)),
		web.Get("/admin/backup/keyring", a.export, web.Role("operator"), web.Tag("Operators"), web.Resumed(importTimeout),
			web.Acts(web.Act{Kind: audit.ActCopyKeyring, Anyway: true}),
			web.Summary("A copy of the keyring, as JSON lines"),
			web.Description("The keys stay wrapped with the master key, which is not in the copy. What was copied before a key was erased must not outlive the promise to erase."),
			web.ReturnsMedia([]string{copyType}), web.Refuses(409)),
		web.Put("/admin/keyring/import", a.receive, web.Role("operator"), web.Tag("Operators"), web.AppendsNothing(), web.MaxBody(maxPiece),
			web.Summary("Send a piece of a copy of the keyring"), web.Returns[pieceReply](), web.Refuses(409)),
		web.Post("/admin/keyring/import", a.take, web.Role("operator"), web.Tag("Operators"), web.Timeout(importTimeout),
			web.Acts(web.Act{Kind: audit.ActImportKeyring}),
			web.Summary("Import the copy of the keyring that was sent, all of it or nothing"),
			web.Description("For a Postgres that was lost while the log stayed. Keys of accounts that were closed since are erased again. Doing so again has no effect."),
			web.Returns[importReply](), web.Refuses(409)),
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
