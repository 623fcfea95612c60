// Package alerts serves the operators' routes on alerts.
package alerts

import (
	"context"
	"slices"
	"time"

	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

// API clears alerts.
type API struct {
	Alerts     *alerts.Alerts
	Recorded   func(ctx context.Context) ([]alert.Open, error) // the open alerts
	ReadModels writeapi.ReadModels
	Now        func() time.Time
}

// AdminRoutes returns the rows for the admin route table.
func (a *API) AdminRoutes() []web.Route {
	return []web.Route{
		web.Post("/admin/alerts/{alert_id}/clear", a.clear, web.Role("operator"), web.ReadModels(readmodel.Alerts),
			web.Tag("Operators"), web.Acts(web.Act{Own: true}),
			web.Summary("Clear an alert that was dealt with"),
			web.Description("The log records the operator. If the condition still holds, its alert "+
				"is raised again, with another id."),
			web.Returns[writeapi.SuccessResponse](), web.Refuses(404)),
	}
}

type clearRequest struct {
	Alert string `path:"alert_id" maxlen:"64"`
}

func (a *API) clear(call *web.Call, in clearRequest) (web.Reply, error) {
	open, err := a.Recorded(call)
	if err != nil {
		return web.Reply{}, err
	}
	i := slices.IndexFunc(open, func(o alert.Open) bool { return o.Alert == in.Alert })
	if i < 0 {
		return web.Reply{}, domain.Refuse(domain.NotFound, "No such alert is open")
	}
	position, err := a.Alerts.Clear(call, open[i], a.Now(), writeapi.Origin(call.Caller))
	return writeapi.Done(call, a.ReadModels, position, err)
}
