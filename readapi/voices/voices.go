// Package voices serves the routes that read voices: the system's, and those of accounts.
package voices

import (
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

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
	reads, tag := web.Reads(readmodel.VoicesView, readmodel.StarsView), web.Tag("Voices")
	return []web.Route{
		web.Get("/v1/ai/voice/list", a.list, reads, tag, web.Summary("The voices that the account can speak with"),
			web.Description("The system's voices, then the account's own, the oldest first."), web.Returns[[]voices.Voice]()),
		web.Get("/v1/ai/voice/{id}", a.one, reads, tag, web.Summary("One voice"),
			web.Description("A voice of the system, or of the account."), web.Returns[voices.Voice](), web.Refuses(404)),
		web.Get("/speech/beta/voices", a.beta, reads, tag, web.Summary("The voices by id, for clients of version 0"),
			web.Description("The same voices as in `GET /v1/ai/voice/list`, as an object."), web.Returns[betaResponse]()),
	}
}

type listRequest struct {
	Starred *bool  `query:"starred" doc:"only starred voices; false is no filter"`
	Owner   string `query:"owner" default:"all" literal:"system,me,all" several:"true" doc:"whose voices; several with commas, too"`
}

// list takes starred=false for no filter, because clients send it by default.
func (a *API) list(call *web.Call, in listRequest) (web.Reply, error) {
	owners := strings.Split(in.Owner, ",")
	all := slices.Contains(owners, "all")
	return a.reply(call, array, selection{
		system: all || slices.Contains(owners, "system"), own: all || slices.Contains(owners, "me"), starred: in.Starred != nil && *in.Starred,
	})
}

// betaResponse is what beta writes, for the documentation.
type betaResponse struct {
	Voices map[string]voices.Voice `json:"voices" doc:"The voices by their ids."`
}

func (a *API) beta(call *web.Call, _ struct{}) (web.Reply, error) {
	return a.reply(call, byID, selection{system: true, own: true})
}

var (
	ownedColumns = readmodel.Columns[ownedRow](readmodel.VoicesView, "v")
	fromVoices   = ` from ` + readmodel.VoicesView.SQL() + ` v where v.account_id = $1`
	oneQuery     = `select array(select voice_id from ` + readmodel.StarsView.SQL() + ` where account_id = $1 and voice_id = $2),
		array(select row(` + ownedColumns + `)` + fromVoices + ` and v.voice_id = $2)`
)

type ownedRow struct {
	ID      string    `col:"voice_id"`
	Type    string    `col:"type"`
	State   string    `col:"state"`
	Reason  string    `col:"reason"`
	Sealed  []byte    `col:"sealed"`
	Created time.Time `col:"created_at"`
	Starred bool      `col:"starred"`
}

func (r ownedRow) of(account string) voices.Owned {
	return voices.Owned{ID: r.ID, Account: account, Type: r.Type, State: r.State, Reason: r.Reason, Sealed: r.Sealed, Starred: r.Starred}
}

func (a *API) one(call *web.Call, in struct {
	ID string `path:"id" doc:"The id of the voice." example:"leah"`
}) (web.Reply, error) {
	var starred []string
	var owned []ownedRow
	query := readapi.Query{SQL: oneQuery, Arguments: []any{call.Principal.Account, in.ID}, Doing: "reading a voice"}
	if err := readapi.Read(call, a.Models, query, func(row pgx.CollectableRow) error { return row.Scan(&starred, &owned) }); err != nil {
		return web.Reply{}, err
	}
	system := a.Shower.System(call.Header("Host"), starred)
	if i := slices.IndexFunc(system, func(v voices.Voice) bool { return v.ID == in.ID }); i >= 0 {
		return web.JSON(system[i]), nil
	}
	if len(owned) == 0 {
		return web.Reply{}, domain.Refuse(domain.NotFound, "There is no such voice")
	}
	shown, err := a.Shower.Owned(call, call.Header("Host"), owned[0].of(call.Principal.Account))
	if err != nil {
		return web.Reply{}, err
	}
	return web.JSON(shown), nil
}
