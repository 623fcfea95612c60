package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recital-tts/recital/cmd/recitalctl/progress"
)

type followProjections struct {
	Names []string `arg:"" optional:"" name:"name" help:"Read models; all, when none is named."`
	following
}

// Help is shown below the flags.
func (*followProjections) Help() string {
	return `Examples:
  recitalctl projections follow
  recitalctl projections follow account --format json

It begins nothing: where nothing is being built, it says so and ends.`
}

// Run follows the generations that are being built.
func (c *followProjections) Run(ctx context.Context, s settings, to terminal) error {
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	all, err := admin.overview(ctx)
	if err != nil {
		return fmt.Errorf("looking for what is being built: %w", err)
	}
	ids := all.beingBuilt(c.Names)
	if len(ids) == 0 {
		fmt.Fprintln(to.notes, "Nothing is being built.")
		return nil
	}
	return c.follow(ctx, admin, ids, false, to)
}

// beingBuilt returns the generations that are to become live, or are newer than the live one and not built yet.
func (o overview) beingBuilt(names []string) []generationID {
	live := map[generationID]int{} // by name and version
	for _, g := range o.Projections {
		if g.Live {
			live[generationID{Name: g.Name, Version: g.Version}] = g.Generation
		}
	}
	var ids []generationID
	for _, g := range o.Projections {
		newer := g.Generation > live[generationID{Name: g.Name, Version: g.Version}]
		wanted := len(names) == 0 || slices.Contains(names, g.Name)
		if wanted && !g.Live && (g.Promote || newer && g.State != current) {
			ids = append(ids, g.generationID)
		}
	}
	return ids
}

// following are the settings of commands that follow a rebuild.
type following struct {
	MaxOutage time.Duration `default:"2m" help:"How long recitald may be away while it is followed; 0 is without limit."`
	Format    format        `default:"table" enum:"table,json" help:"table, or json: an object for each line, while it goes on."`
}

// Validate is called by kong.
func (f following) Validate() error {
	if f.MaxOutage < 0 {
		return errors.New("--max-outage cannot be negative")
	}
	return nil
}

// follow displays how recitald builds generations until all are built, and live if they are to be promoted.
func (f following) follow(ctx context.Context, admin *client, ids []generationID, promote bool, to terminal) error {
	display := f.display(to)
	follower := follower{
		admin: admin, ids: ids, promote: promote, maxOutage: f.MaxOutage, display: display, paces: map[generationID]*progress.Pace{},
	}
	built, err := follower.run(ctx)
	display.Close()
	if err != nil || f.Format == jsonValue {
		return err
	}
	if err := printColumns(table, to, nil, generationColumns(), built); err != nil {
		return err
	}
	fmt.Fprintln(to.notes, "\n"+whatNow(built))
	return nil
}

func (f following) display(to terminal) progress.Display {
	switch {
	case f.Format == jsonValue:
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
