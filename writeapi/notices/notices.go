// Package notices serves what mode dev keeps instead of sending it.
package notices

import (
	"time"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/providers/notices"
)

// API serves the outbox.
type API struct {
	Outbox func() []notices.Message // the newest first; nil if notices are sent
}

// AdminRoutes returns the rows for the admin route table.
func (a *API) AdminRoutes() []web.Route {
	if a.Outbox == nil {
		return nil
	}
	return []web.Route{
		web.Get("/admin/outbox", a.list, web.Role("operator"), web.Tag("Operators"),
			web.Summary("The notices that would have been sent by e-mail, the newest first (mode dev)"),
			web.Returns[outboxReply]()),
	}
}

type outboxReply struct {
	Notices []sentNotice `json:"notices"`
}

type sentNotice struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	Account string    `json:"account"` // "" for the operators
	To      string    `json:"to"`
	Subject string    `json:"subject"`
	Text    string    `json:"text"`
	At      time.Time `json:"at"`
}

func (a *API) list(*web.Call, struct{}) (web.Reply, error) {
	reply := outboxReply{Notices: []sentNotice{}}
	for _, m := range a.Outbox() {
		reply.Notices = append(reply.Notices, sentNotice{m.ID, m.Kind, m.Account, m.To, m.Subject, m.Body, m.At})
	}
	return web.JSON(reply).WithHeader("Cache-Control", "no-store"), nil
}
