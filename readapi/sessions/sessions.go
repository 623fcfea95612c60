// Package sessions serves the routes that read the sessions of browsers.
package sessions

import (
	"context"
	"time"

	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

// API serves sessions from their read model.
type API struct {
	Models readapi.Models
	Keys   keyring.Opener
	Idle   time.Duration // after which an unused session has ended
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Get("/v1/account/sessions", a.list, web.Reads(readmodel.SessionsView.View), web.Tag("Account"),
			web.Summary("The signed-in browsers"),
			web.Description("One element for each session. IP addresses are not shown."),
			web.Returns[sessionListResponse]()),
	}
}

type sessionListResponse struct {
	Sessions []sessionInfo `json:"sessions" doc:"The sessions, newest first."`
}

type sessionInfo struct {
	ID          string  `json:"id" doc:"The public id of the session, which can revoke it but is no credential."`
	DeviceLabel *string `json:"device_label" doc:"The browser and system, in words."`
	Country     *string `json:"country" doc:"The country in which the session began, in the two letters of ISO 3166."`
	CreatedAt   int64   `json:"created_at" doc:"The start of the session, in Unix seconds."`
	UpdatedAt   int64   `json:"updated_at" doc:"The last use of the session, in Unix seconds, to within five minutes."`
	Current     bool    `json:"current" default:"false" doc:"Whether it is the session of this request."`
}

// liveSessions selects the sessions of an account ($1) that have not expired ($2) and were used after a time ($3).
var liveSessions = readapi.From(readmodel.SessionsView,
	`where account_id = $1 and expires_at > $2 and seen_at > $3 order by opened_at desc, session_id`, "reading sessions")

func (a *API) list(call *web.Call, _ struct{}) (web.Reply, error) {
	rows, err := liveSessions.Read(call, a.Models, a.arguments(call.Principal.Account)...)
	if err != nil {
		return web.Reply{}, err
	}
	response := sessionListResponse{Sessions: make([]sessionInfo, len(rows))}
	for i, row := range rows {
		if response.Sessions[i], err = a.show(call, row); err != nil {
			return web.Reply{}, err
		}
	}
	return web.JSON(response).WithHeader("Cache-Control", "no-store"), nil
}

func (a *API) arguments(account string) []any {
	now := time.Now()
	return []any{account, now, now.Add(-a.Idle)}
}

func (a *API) show(call *web.Call, row readmodel.SessionRow) (sessionInfo, error) {
	label, err := keyring.OpenText(call, a.Keys, call.Principal.Account, row.Device, row.DeviceUse())
	return sessionInfo{
		ID: row.Session, DeviceLabel: label, Country: row.Country, CreatedAt: row.OpenedAt.Unix(),
		UpdatedAt: row.SeenAt.Unix(), Current: row.Session == call.SessionShown(),
	}, err
}

// Shown returns the ids of an account's sessions in the read model, newest first.
func (a *API) Shown(ctx context.Context, account string) (ids []string, err error) {
	rows, _, err := liveSessions.Select(ctx, a.Models, a.arguments(account)...)
	for _, row := range rows {
		ids = append(ids, row.Session)
	}
	return ids, err
}
