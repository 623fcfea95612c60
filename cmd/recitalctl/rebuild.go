package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/recital-tts/recital/cmd/recitalctl/progress"
)

type rebuildProjections struct {
	Names     []string      `arg:"" optional:"" name:"name" help:"Read models."`
	All       bool          `help:"All read models of the recitald, in one pass over the log."`
	Promote   bool          `help:"Have recitald make each live as soon as it has caught up, also when recitalctl is gone by then."`
	MaxOutage time.Duration `default:"2m" help:"How long recitald may be away while it is followed; 0 is without limit."`
	Format    format        `default:"table" enum:"table,json" help:"table, or json: an object for each line, while it goes on."`
}

// Help is shown below the flags.
func (*rebuildProjections) Help() string {
	return `Examples:
  recitalctl projections rebuild account
  recitalctl projections rebuild account usage --promote
  recitalctl projections rebuild --all --promote --format json

recitald builds; recitalctl starts it, or goes on with what is being built already, and follows it: with bars on a
terminal, with lines elsewhere. Readers see the live generation all the time. Ctrl-C ends only the following (exit code
5): the same command follows again, and projections retire cancels. What is not promoted is fed beside the live one
until it is promoted or retired.`
}

// Validate is called by kong.
func (c *rebuildProjections) Validate() error {
	if c.All == (len(c.Names) > 0) {
		return errors.New("name read models, or say --all")
	}
	if c.MaxOutage < 0 {
		return errors.New("--max-outage cannot be negative")
	}
	return nil
}

// Run begins the rebuild, or finds the one that goes on, and follows it.
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
	display := c.display(to)
	follower := follower{
		admin: admin, ids: ids, promote: c.Promote, again: c.again(), maxOutage: c.MaxOutage, display: display,
		paces: map[generationID]*progress.Pace{},
	}
	built, err := follower.run(ctx)
	display.Close()
	if err != nil || c.Format == jsonValue {
		return err
	}
	if err := printColumns(table, to.out, nil, generationColumns(), built); err != nil {
		return err
	}
	fmt.Fprintln(to.notes, "\n"+whatNow(built))
	return nil
}

// again is the command that follows the rebuild once more.
func (c *rebuildProjections) again() string {
	command := "recitalctl projections rebuild " + strings.Join(c.Names, " ")
	if c.All {
		command += "--all"
	}
	if c.Promote {
		command += " --promote"
	}
	return command
}

func (c *rebuildProjections) display(to terminal) progress.Display {
	switch {
	case c.Format == jsonValue:
		return progress.NewJSON(to.out, to.notes)
	case to.screen != nil:
		return progress.NewBars(to.screen)
	}
	return progress.NewLines(to.notes)
}

func whatNow(built []generation) string {
	var waiting []string
	for _, g := range built {
		if !g.Live {
			waiting = append(waiting, printable(g.Name))
		}
	}
	if len(waiting) == 0 {
		return "Live now. The generations that were live before are kept for a rollback, until they are retired."
	}
	return "Built. To make it live: recitalctl projections promote " + strings.Join(waiting, " ")
}
