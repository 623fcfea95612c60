// Package notices serves the outbox of mode dev, in which notices are kept instead of sent.
package notices

import (
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/providers/notices"
)

// API serves the outbox.
type API struct {
	Outbox func() []notices.Message // newest first; nil if notices are sent
}

// AdminRoutes returns the rows for the admin route table.
func (a *API) AdminRoutes() []web.Route {
	if a.Outbox == nil {
		return nil
	}
	return []web.Route{
		web.Get("/admin/outbox", a.list, web.Role("operator"), web.Tag("Operators"),
			web.Summary("The notices that would have been sent by e-mail, newest first (mode dev)"),
			web.Returns[adminapi.OutboxReply]()),
	}
}

func (a *API) list(*web.Call, struct{}) (web.Reply, error) {
	reply := adminapi.OutboxReply{Notices: []adminapi.SentNotice{}}
	for _, m := range a.Outbox() {
		reply.Notices = append(reply.Notices, adminapi.SentNotice{
			ID: m.ID, Kind: m.Kind, Account: m.Account, To: m.To, Subject: m.Subject, Text: m.Body, At: m.At,
		})
	}
	return web.JSON(reply).WithHeader("Cache-Control", "no-store"), nil
}
