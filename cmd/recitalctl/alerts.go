package main

import (
	"context"
	"fmt"
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
	var open adminapi.AlertsReply
	if err := admin.get(ctx, "listing alerts", "/admin/alerts", &open); err != nil {
		return err
	}
	if len(open.Alerts) == 0 && c.Format == table {
		fmt.Fprintln(to.notes, "There are no open alerts.")
		return nil
	}
	return show(c.Format, to, open, open.Alerts)
}

type clearAlert struct {
	ID string `arg:"" name:"id" help:"Id of the alert, as recitalctl alerts shows it."`
}

// Run clears the alert.
func (c *clearAlert) Run(ctx context.Context, admin *client, to terminal) error {
	var done struct {
		Success bool `json:"success"`
	}
	err := admin.post(ctx, "clearing an alert", "/admin/alerts/"+url.PathEscape(c.ID)+"/clear", struct{}{}, &done)
	if err == nil {
		fmt.Fprintln(to.notes, "The alert is cleared.")
	}
	return err
}

type showOutbox struct{ listForm }

// Run prints the notices.
func (c *showOutbox) Run(ctx context.Context, admin *client, to terminal) error {
	var kept adminapi.OutboxReply
	if err := admin.get(ctx, "looking at the outbox of mode dev", "/admin/outbox", &kept); err != nil {
		return err
	}
	if len(kept.Notices) == 0 && c.Format == table {
		fmt.Fprintln(to.notes, "There are no notices.")
		return nil
	}
	return show(c.Format, to, kept, kept.Notices)
}
