package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

type alertCommands struct {
	List  listAlerts `cmd:"" default:"withargs" help:"List the alerts that are open, the oldest first."`
	Clear clearAlert `cmd:"" help:"Clear an alert that somebody has seen to. That of what still lasts comes back."`
}

// openAlerts is the admin API's list of alerts.
type openAlerts struct {
	Alerts []openAlert `json:"alerts"`
}

type openAlert struct {
	ID       string    `json:"id"`
	Source   string    `json:"source"`
	Subject  string    `json:"subject"`
	Reason   string    `json:"reason"`
	Since    time.Time `json:"since"`
	Lasting  bool      `json:"lasting"`
	Sentence string    `json:"sentence"`
}

type listAlerts struct {
	Format format `default:"table" enum:"table,json,csv" help:"Form of the result: table, json or csv."`
}

// Run prints the alerts that are open.
func (c *listAlerts) Run(ctx context.Context, s settings, to terminal) error {
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	var open openAlerts
	if _, err := admin.get(ctx, "/admin/alerts", &open); err != nil {
		return fmt.Errorf("listing alerts: %w", err)
	}
	if open.Alerts == nil {
		return admin.notUnderstood()
	}
	if len(open.Alerts) == 0 && c.Format == table {
		fmt.Fprintln(to.notes, "No alert is open.")
		return nil
	}
	return printColumns(c.Format, to, open, alertColumns(), open.Alerts)
}

type clearAlert struct {
	ID string `arg:"" name:"id" help:"Id of the alert, as recitalctl alerts shows it."`
}

// Run clears the alert.
func (c *clearAlert) Run(ctx context.Context, s settings, to terminal) error {
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	var done struct {
		Success bool `json:"success"`
	}
	if _, err := admin.post(ctx, "/admin/alerts/"+url.PathEscape(c.ID)+"/clear", struct{}{}, &done); err != nil {
		return fmt.Errorf("clearing an alert: %w", err)
	}
	if !done.Success {
		return admin.notUnderstood()
	}
	fmt.Fprintln(to.notes, "The alert is cleared.")
	return nil
}

func alertColumns() []column[openAlert] {
	return []column[openAlert]{
		{name: "id", people: func(a openAlert) string { return orNone(a.ID) }, raw: func(a openAlert) string { return a.ID }},
		{name: "source", people: func(a openAlert) string { return a.Source }, wide: true},
		{name: "reason", people: func(a openAlert) string { return a.Reason }, wide: true},
		{name: "since", people: func(a openAlert) string { return a.Since.Format(time.RFC3339) }},
		{name: "clears_itself", people: func(a openAlert) string { return strconv.FormatBool(a.Lasting) }, wide: true},
		{name: "alert", people: func(a openAlert) string { return a.Sentence }},
	}
}
