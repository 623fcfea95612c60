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

type rebuildProjections struct {
	Names   []string `arg:"" optional:"" name:"name" help:"Read models."`
	All     bool     `help:"All read models of the recitald, in one pass over the log."`
	Promote bool     `help:"${rebuild_projections_promote}"`
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
func (c *rebuildProjections) Run(ctx context.Context, admin *client, to terminal) error {
	command := struct {
		Projections []string `json:"projections"`
		All         bool     `json:"all"`
		Promote     bool     `json:"promote"`
	}{append([]string{}, c.Names...), c.All, c.Promote}
	ids, err := admin.change(ctx, "beginning the rebuild", "/admin/projections/rebuild", command)
	if err != nil {
		return err
	}
	return c.follow(ctx, admin, ids, c.Promote, to)
}

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
func (c *followProjections) Run(ctx context.Context, admin *client, to terminal) error {
	all, err := admin.overview(ctx, "looking for what is being built")
	if err != nil {
		return err
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
	Format    format        `default:"table" enum:"table,json" help:"${following_format}"`
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
		admin: admin, ids: ids, promote: promote, maxOutage: f.MaxOutage, display: display,
		paces: map[generationID]*progress.Pace{},
	}
	built, err := follower.run(ctx)
	display.Close()
	if err != nil || f.Format == jsonValue {
		return err
	}
	if err := show(table, to, nil, generationRows(built)); err != nil {
		return err
	}
	fmt.Fprintln(to.notes, "\n"+whatNow(built))
	return nil
}

func (f following) display(to terminal) *progress.Display {
	if f.Format == jsonValue {
		return progress.NewJSON(to.out, to.notes)
	}
	return progress.New(to.screen, to.notes)
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
