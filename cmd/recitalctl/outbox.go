package main

import (
	"context"
	"fmt"
	"time"
)

type showOutbox struct{ listForm }

// outbox is the admin API's list of notices that were not sent.
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
		fmt.Fprintln(to.notes, "No notice would have been sent.")
		return nil
	}
	return show(c.Format, to, kept, kept.Notices)
}
