// Package alerts serves the open alerts: as sentences to operators' accounts, and in full at the admin address.
package alerts

import (
	"context"
	"slices"
	"sync"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

// API serves the read model of alerts, and this instance's findings that are not in it yet. It also works without the
// read model: its outage is one of the alerts.
type API struct {
	Models readapi.Models
	Found  func() []alert.Open // by this instance

	mu   sync.Mutex
	last []alert.Open // from the last successful read
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Get("/v1/damage_report", a.report, web.Reads(readmodel.AlertsView.View), web.Tag("Operations"),
			web.Summary("The open alerts"),
			web.Description("For accounts with the role of an operator. Each alert is a sentence; "+
				"the oldest come first."),
			web.Returns[AlertingResponse](), web.Refuses(403)),
	}
}

// AdminRoutes returns the rows for the admin route table.
func (a *API) AdminRoutes() []web.Route {
	return []web.Route{
		web.Get("/admin/alerts", a.list, web.Role("operator", "auditor"), web.Tag("Operators"),
			web.Summary("The open alerts"),
			web.Returns[adminapi.AlertsReply]()),
	}
}

var errNoOperator = domain.Refuse(domain.Denied, "The damage report is for accounts with the role of an operator")

// AlertingResponse is the record of that name in the interface.
type AlertingResponse struct {
	RedAlerts []string `json:"red_alerts" doc:"A sentence for each open alert, oldest first."`
}

func (a *API) report(call *web.Call, _ struct{}) (web.Reply, error) {
	if !call.Principal.Operator {
		return web.Reply{}, errNoOperator
	}
	response := AlertingResponse{RedAlerts: []string{}}
	if _, position, err := a.read(call); err == nil {
		call.SetPosition(position)
	}
	for _, open := range a.Known() {
		response.RedAlerts = append(response.RedAlerts, open.Sentence())
	}
	return web.JSON(response).WithHeader("Cache-Control", "no-store"), nil
}

func (a *API) list(call *web.Call, _ struct{}) (web.Reply, error) {
	reply := adminapi.AlertsReply{Alerts: []adminapi.AlertInfo{}}
	_, _, _ = a.read(call) // if it fails, the last alerts are shown
	for _, o := range a.Known() {
		reply.Alerts = append(reply.Alerts, adminapi.AlertInfo{
			ID: o.Alert, Source: o.Source, Subject: o.Subject, Reason: string(o.Reason), Since: o.Since.UTC(),
			Lasting: o.Lasting, Sentence: o.Sentence(), Advice: o.Advice(),
		})
	}
	return web.JSON(reply), nil
}

// Known returns the alerts of the last successful read and the findings of this instance, oldest first.
func (a *API) Known() []alert.Open {
	a.mu.Lock()
	open := slices.Clone(a.last)
	a.mu.Unlock()
	recorded := map[alert.Condition]bool{}
	for _, o := range open {
		recorded[o.Condition] = recorded[o.Condition] || o.Lasting
	}
	for _, found := range a.Found() {
		if !recorded[found.Condition] {
			open = append(open, found)
		}
	}
	slices.SortStableFunc(open, func(a, b alert.Open) int { return a.Since.Compare(b.Since) })
	return open
}

var openAlerts = readapi.From(readmodel.AlertsView, `order by since, alert_id`, "reading alerts")

// Recorded returns the alerts in the read model, oldest first.
func (a *API) Recorded(ctx context.Context) ([]alert.Open, error) {
	open, _, err := a.read(ctx)
	return open, err
}

func (a *API) read(ctx context.Context) (open []alert.Open, position string, err error) {
	rows, position, err := openAlerts.Select(ctx, a.Models)
	if err != nil {
		return nil, "", err
	}
	for _, r := range rows {
		open = append(open, alert.Open{
			Condition: alert.Condition{Source: r.Source, Subject: r.Subject, Reason: alert.Reason(r.Reason)}, Alert: r.Alert,
			Since: r.Since, Lasting: r.Lasting,
		})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = slices.Clone(open)
	return open, position, nil
}
