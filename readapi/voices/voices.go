// Package voices serves the routes that read voices: the system's, and those of accounts.
package voices

import (
	"slices"
	"strings"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/speech/voices"
	"github.com/recital-tts/recital/readapi"
)

// API serves voices.
type API struct {
	Models readapi.Models
	Shower voices.Shower
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	reads, tag := web.Reads(readmodel.VoicesView.View, readmodel.StarsView.View), web.Tag("Voices")
	return []web.Route{
		web.Get("/v1/ai/voice/list", a.list, reads, tag, web.Summary("The voices of the account and of the system"),
			web.Description("The system's voices, then the account's own, oldest first."), web.Returns[[]voices.Voice]()),
		web.Get("/v1/ai/voice/{id}", a.one, reads, tag, web.Summary("One voice"),
			web.Description("A voice of the system, or of the account."), web.Returns[voices.Voice](), web.Refuses(404)),
		web.Get("/speech/beta/voices", a.beta, reads, tag, web.Summary("The voices by id, for clients of version 0"),
			web.Description("The same voices as in `GET /v1/ai/voice/list`, as an object."), web.Returns[betaResponse]()),
	}
}

type listRequest struct {
	Starred *bool  `query:"starred" doc:"only starred voices; false is no filter"`
	Owner   string `query:"owner" default:"all" literal:"system,me,all" several:"true" doc:"owners, separated by commas"`
}

// list ignores starred=false, because clients send it by default.
func (a *API) list(call *web.Call, in listRequest) (web.Reply, error) {
	owners := strings.Split(in.Owner, ",")
	all := slices.Contains(owners, "all")
	return a.reply(call, array, selection{
		system:  all || slices.Contains(owners, "system"),
		own:     all || slices.Contains(owners, "me"),
		starred: in.Starred != nil && *in.Starred,
	})
}

// betaResponse documents the reply of beta.
type betaResponse struct {
	Voices map[string]voices.Voice `json:"voices" doc:"The voices by their ids."`
}

func (a *API) beta(call *web.Call, _ struct{}) (web.Reply, error) {
	return a.reply(call, byID, selection{system: true, own: true})
}

// found has the voices that a query selects.
type found struct {
	Starred []string // ids of starred voices, also of the system's
	Owned   []readmodel.VoiceRow
}

var oneQuery = readapi.Rows[found]{Doing: "reading a voice", SQL: `
	select array(select voice_id from ` + readmodel.StarsView.SQL() + ` where account_id = $1 and voice_id = $2),
		` + readmodel.VoicesView.Array("v", `where v.account_id = $1 and v.voice_id = $2`)}

func ownedOf(r readmodel.VoiceRow) voices.Owned {
	return voices.Owned{
		ID: r.Voice, Account: r.Account, Type: string(r.Type), State: string(r.Phase), Reason: r.Reason,
		Sealed: r.Sealed, Starred: r.Starred,
	}
}

func (a *API) one(call *web.Call, in struct {
	ID string `path:"id" doc:"The id of the voice." example:"leah"`
}) (web.Reply, error) {
	found, err := oneQuery.One(call, a.Models, nil, call.Principal.Account, in.ID)
	if err != nil {
		return web.Reply{}, err
	}
	system := a.Shower.System(call.Header("Host"), found.Starred)
	if i := slices.IndexFunc(system, func(v voices.Voice) bool { return v.ID == in.ID }); i >= 0 {
		return web.JSON(system[i]), nil
	}
	if len(found.Owned) == 0 {
		return web.Reply{}, domain.Refuse(domain.NotFound, "There is no such voice")
	}
	shown, err := a.Shower.Owned(call, call.Header("Host"), ownedOf(found.Owned[0]))
	if err != nil {
		return web.Reply{}, err
	}
	return web.JSON(shown), nil
}
