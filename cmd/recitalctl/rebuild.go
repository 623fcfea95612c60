package main

import (
	"context"
	"errors"
	"fmt"
)

type rebuildProjections struct {
	Names   []string `arg:"" optional:"" name:"name" help:"Read models."`
	All     bool     `help:"All read models of the recitald, in one pass over the log."`
	Promote bool     `help:"Have recitald make each live as soon as it has caught up, also when recitalctl is gone by then."`
	following
}

// Help is shown below the flags.
func (*rebuildProjections) Help() string {
	return `Examples:
  recitalctl projections rebuild account
  recitalctl projections rebuild account usage --promote
  recitalctl projections rebuild --all --promote --format json

recitald builds; recitalctl starts it, or goes on with what is being built already, and follows it: with bars on a
terminal, with lines elsewhere. Readers see the live generation all the time. Ctrl-C ends only the following (exit code
5): projections follow goes on with it, and projections retire cancels the rebuild. What is not promoted is fed beside
the live one until it is promoted or retired.`
}

// Validate is called by kong.
func (c *rebuildProjections) Validate() error {
	if c.All == (len(c.Names) > 0) {
		return errors.New("name read models, or say --all")
	}
	return c.following.Validate()
}

// Run starts the rebuild, or finds the one in progress, and follows it.
func (c *rebuildProjections) Run(ctx context.Context, s settings, to terminal) error {
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	command := struct {
		Projections []string `json:"projections"`
		All         bool     `json:"all"`
		Promote     bool     `json:"promote"`
	}{append([]string{}, c.Names...), c.All, c.Promote}
	ids, err := admin.change(ctx, "/admin/projections/rebuild", command)
	if err != nil {
		return fmt.Errorf("beginning the rebuild: %w", err)
	}
	return c.follow(ctx, admin, ids, c.Promote, to)
}
