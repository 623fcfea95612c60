package main

import (
	"context"
	"net/url"

	"github.com/recital-tts/recital/internal/http/adminapi"
)

type alertCommands struct {
	List  listAlerts `cmd:"" default:"withargs" help:"List the alerts that are open, the oldest first."`
	Clear clearAlert `cmd:"" help:"Clear an alert. If its cause persists, it is raised again."`
}

type listAlerts struct{ listForm }

// Run prints the open alerts.
func (c *listAlerts) Run(ctx context.Context, admin *client, to terminal) error {
	open, err := get[adminapi.AlertsReply](ctx, admin, "listing alerts", "/admin/alerts")
	if len(open.Alerts) == 0 && c.Format == table {
		return to.report(err, "There are no open alerts.")
	}
	return showList(c.Format, to, open, open.Alerts, err)
}

type clearAlert struct {
	ID string `arg:"" name:"id" help:"Id of the alert, as recitalctl alerts shows it."`
}

// Run clears the alert.
func (c *clearAlert) Run(ctx context.Context, admin *client, to terminal) error {
	path := "/admin/alerts/" + url.PathEscape(c.ID) + "/clear"
	_, err := post[struct{}](ctx, admin, "clearing an alert", path, struct{}{})
	return to.report(err, "The alert is cleared.")
}

type showOutbox struct{ listForm }

// Run prints the notices.
func (c *showOutbox) Run(ctx context.Context, admin *client, to terminal) error {
	kept, err := get[adminapi.OutboxReply](ctx, admin, "looking at the outbox of mode dev", "/admin/outbox")
	if len(kept.Notices) == 0 && c.Format == table {
		return to.report(err, "There are no notices.")
	}
	return showList(c.Format, to, kept, kept.Notices, err)
}
