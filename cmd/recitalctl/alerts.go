package main

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

type alertCommands struct {
	List  listAlerts `cmd:"" default:"withargs" help:"List the alerts that are open, the oldest first."`
	Clear clearAlert `cmd:"" help:"Clear an alert. If its cause persists, it is raised again."`
}

// openAlerts is the admin API's list of alerts.
type openAlerts struct {
	Alerts []openAlert `json:"alerts"`
}

type openAlert struct {
	ID       alertID   `json:"id"`
	Source   string    `json:"source" col:",wide"`
	Subject  string    `json:"subject" col:"-"`
	Reason   string    `json:"reason" col:",wide"`
	Since    time.Time `json:"since"`
	Lasting  bool      `json:"lasting" col:"clears_itself,wide"`
	Sentence string    `json:"sentence" col:"alert"`
}

// alertID is the id of an alert. It is empty while the log is unavailable.
type alertID string

func (id alertID) cell(people bool) string {
	if people {
		return orNone(string(id))
	}
	return string(id)
}

type listAlerts struct{ listForm }

// Run prints the open alerts.
func (c *listAlerts) Run(ctx context.Context, admin *client, to terminal) error {
	var open openAlerts
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

// outbox is the admin API's list of unsent notices.
type outbox struct {
	Notices []unsentNotice `json:"notices"`
}

type unsentNotice struct {
	At      time.Time `json:"at"`
	ID      string    `json:"id" col:",wide"`
	Kind    string    `json:"kind"`
	Account string    `json:"account" col:",wide"`
	To      string    `json:"to"`
	Subject string    `json:"subject"`
	Text    string    `json:"text" col:"-"`
}

// Run prints the notices.
func (c *showOutbox) Run(ctx context.Context, admin *client, to terminal) error {
	var kept outbox
	if err := admin.get(ctx, "looking at the outbox of mode dev", "/admin/outbox", &kept); err != nil {
		return err
	}
	if len(kept.Notices) == 0 && c.Format == table {
		fmt.Fprintln(to.notes, "There are no notices.")
		return nil
	}
	return show(c.Format, to, kept, kept.Notices)
}
