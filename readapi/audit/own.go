package audit

import (
	"net/http"
	"slices"
	"time"

	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

// Routes returns the row for the public route table: an owner's view of the account's entries.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Get("/v1/account/activity", a.own, web.Tag("Account"), web.Reads(readmodel.AuditView.View),
			web.Summary("The activity in the account"),
			web.Description("Newest entries first, without the reads of auditors and operators."),
			web.Returns[ownEntries](web.Sends("cache-control")), web.Refuses(400)),
	}
}

type ownRequest struct {
	Area  string `query:"area" default:"sessions" literal:"sessions,billing,activity" doc:"The area: sessions (sign-ins, keys, preferences), billing, or activity (voices, deleted clips, hosting)."`
	Limit int    `query:"limit" default:"50" ge:"1" le:"100" doc:"The number of entries on a page."`
	Page  string `query:"page_token" maxlen:"200" doc:"next_page_token of the previous page."`
}

type ownEntries struct {
	Entries []ownEntry `json:"entries" doc:"The entries, newest first."`
	Next    *string    `json:"next_page_token" doc:"The token of the next page; null on the last one."`
}

type ownEntry struct {
	At        int64   `json:"at" doc:"The time, in Unix seconds."`
	Kind      string  `json:"kind" doc:"The kind of the entry, such as session-opened."`
	Sentence  string  `json:"sentence" doc:"The event in words."`
	By        string  `json:"by" literal:"owner,operator,service" doc:"The actor: the owner of the account, an operator, or the service itself."`
	SessionID *string `json:"session_id" doc:"The session of the owner's request; null if there was none."`
	APIKey    *string `json:"api_key" doc:"The API key of the owner's request, in its masked form; null if there was none."`
	Address   *string `json:"address" doc:"The network address of the owner's request; null if it is unknown."`
}

// ofStaff are the kinds of entries that name auditors or operators, and their reasons.
var ofStaff = []string{"personal-data-read", "event-skipped"}

// ownBefore selects a page of the account $1 in the area $2, in the reverse order of their index, before the place in
// $3 to $5.
var ownBefore = readapi.From(readmodel.AuditView, `where account_id = $1 and area = $2
	and (at, log_commit, log_prepare) < ($3, $4, $5) and kind <> all($6)
	order by at desc, log_commit desc, log_prepare desc limit $7`, "reading the activity of an account")

func (a *API) own(call *web.Call, in ownRequest) (web.Reply, error) {
	from := place{at: lastPlace.UnixMicro()}
	if err := from.UnmarshalText([]byte(in.Page)); err != nil {
		return web.Reply{}, &web.Error{Status: http.StatusBadRequest, Message: "The page token is invalid"}
	}
	rows, err := ownBefore.Read(call, a.Models, call.Principal.Account, in.Area, time.UnixMicro(from.at).UTC(),
		from.commit, from.prepare, ofStaff, in.Limit+1)
	if err != nil {
		return web.Reply{}, err
	}
	response := ownEntries{Entries: []ownEntry{}}
	rows, last := readapi.Cut(rows, in.Limit)
	if last != nil {
		response.Next = new(place{at: last.At.UnixMicro(), position: positionOf(*last)}.String())
	}
	for _, row := range rows {
		entry, err := a.ownEntry(call, row)
		if err != nil {
			return web.Reply{}, err
		}
		response.Entries = append(response.Entries, entry)
	}
	return web.JSON(response).WithHeader("Cache-Control", "no-store"), nil
}

// lastPlace is after all entries.
var lastPlace = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// ownEntry returns an entry without the name, address and reason of a member of staff.
func (a *API) ownEntry(call *web.Call, r readmodel.AuditRow) (ownEntry, error) {
	e := ownEntry{At: r.At.Unix(), Kind: r.Kind, Sentence: r.Sentence + ".", By: "owner"}
	switch r.ActorKind {
	case "operator":
		e.By = "operator"
		return e, nil
	case "system":
		e.By = "service"
		return e, nil
	}
	if r.ActorSession != "" {
		e.SessionID = &r.ActorSession
	}
	if r.ActorKey != "" {
		e.APIKey = &r.ActorKey
	}
	i := slices.IndexFunc(r.Personal, func(field readmodel.PersonalField) bool {
		return field.Name == readmodel.AuditAddress && field.Account == call.Principal.Account
	})
	if i < 0 {
		return e, nil
	}
	var err error
	e.Address, err = keyring.OpenText(call, a.Keys, call.Principal.Account, r.Personal[i].Sealed, r.Personal[i].Use)
	return e, err
}
