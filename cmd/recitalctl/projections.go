package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/recital-tts/recital/cmd/recitalctl/progress"
	"github.com/recital-tts/recital/internal/http/adminapi"
)

// projections are the commands on read models.
type projections struct {
	List     listProjections    `cmd:"" help:"Show the generations of all read models."`
	Rebuild  rebuildProjections `cmd:"" help:"Rebuild read models next to the live ones, and follow it."`
	Follow   followProjections  `cmd:"" help:"Follow running rebuilds."`
	Promote  promoteProjections `cmd:"" help:"Make built generations live."`
	Rollback rollbackProjection `cmd:"" help:"Make the previous generation live again."`
	Retire   retireProjection   `cmd:"" help:"Drop a generation; also cancels a rebuild."`
	Parked   parkedSubcommands  `cmd:"" help:"Events that a generation could not handle."`
}

type listProjections struct {
	listForm
}

// Help implements kong.HelpProvider.
func (*listProjections) Help() string {
	return `Examples:
  recitalctl projections list
  recitalctl projections list --format csv

State: building (behind the live one), current (being fed), stopped (at an event that it cannot handle; the reason is
below the table), unfed (no recitald of its version runs). Rows are an estimate. In json and csv, lag is in
seconds and size in bytes.`
}

// Run prints the generations, and why some have stopped.
func (c *listProjections) Run(ctx context.Context, admin *client, to terminal) error {
	all, err := admin.overview(ctx, "listing the projections")
	if err != nil {
		return err
	}
	if err := show(c.Format, to, all, generationRows(all.Projections)); err != nil {
		return err
	}
	for _, g := range all.Projections {
		if c.Format == table && g.State == stopped {
			fmt.Fprintf(to.out, "\n%s is stopped: %s\n  see recitalctl projections parked list\n", printable(g.String()),
				printable(g.Reason))
		}
	}
	return nil
}

type promoteProjections struct {
	Names      []string `arg:"" name:"name" help:"Read models."`
	Generation int      `placeholder:"N" help:"Which generation, with one name; by default the newest that is not live."`
	listForm
}

// Help implements kong.HelpProvider.
func (*promoteProjections) Help() string {
	return `Examples:
  recitalctl projections promote account
  recitalctl projections promote account usage       both in one step, or neither
  recitalctl projections promote account --generation 3

A generation that is behind the live one is refused. So is one that is behind the log, if the live one belongs to
another log. The previous live generation is kept and fed for a rollback, until it is retired.`
}

// Validate implements kong's check of arguments.
func (c *promoteProjections) Validate() error {
	if c.Generation != 0 && len(c.Names) > 1 {
		return fmt.Errorf("--generation goes with one name")
	}
	return nil
}

// Run promotes all of them atomically.
func (c *promoteProjections) Run(ctx context.Context, admin *client, to terminal) error {
	var command adminapi.GenerationsReply
	for _, name := range c.Names {
		command.Generations = append(command.Generations, adminapi.GenerationID{Name: name, Generation: c.Generation})
	}
	live, err := post[adminapi.GenerationsReply](ctx, admin, "promoting", "/admin/projections/promote", command)
	return showLive(c.Format, to, live, err)
}

type rollbackProjection struct {
	Name string `arg:"" help:"Read model."`
	listForm
}

// Help implements kong.HelpProvider.
func (*rollbackProjection) Help() string {
	return `Examples:
  recitalctl projections rollback account

The generation that was live before the last promotion is still fed, so readers do not go back in time. The command is
refused if that generation is behind or was retired.`
}

// Run rolls back.
func (c *rollbackProjection) Run(ctx context.Context, admin *client, to terminal) error {
	command := map[string]string{"name": c.Name}
	const address = "/admin/projections/rollback"
	live, err := post[adminapi.GenerationsReply](ctx, admin, "rolling back "+c.Name, address, command)
	return showLive(c.Format, to, live, err)
}

func showLive(f format, to terminal, live adminapi.GenerationsReply, err error) error {
	err = showList(f, to, live, live.Generations, err)
	if f != table {
		return err
	}
	return to.report(err, "\nLive now.")
}

type retireProjection struct {
	Name       string `arg:"" help:"Read model."`
	Generation int    `required:"" placeholder:"N" help:"Which generation."`
	Version    int    `placeholder:"N" help:"Of which version; by default that of the recitald."`
	Yes        bool   `help:"Do not ask."`
}

// Help implements kong.HelpProvider.
func (*retireProjection) Help() string {
	return `Examples:
  recitalctl projections retire account --generation 1            asks first
  recitalctl projections retire account --generation 1 --yes      for scripts
  recitalctl projections retire account --generation 3 --version 1 --yes

The tables of the generation are dropped. A live generation is refused, unless it has another version than recitald's
and no recitald feeds it, as after an upgrade. Retiring a generation that is being built cancels the rebuild.`
}

// Run asks for confirmation and drops the generation.
func (c *retireProjection) Run(ctx context.Context, admin *client, to terminal) error {
	of := ""
	if c.Version != 0 {
		of = fmt.Sprintf(" version %d", c.Version)
	}
	question := fmt.Sprintf("Drop generation %d of %s%s with its tables?", c.Generation, printable(c.Name), of)
	if err := to.confirm(ctx, c.Yes, question); err != nil {
		return err
	}
	command := adminapi.GenerationID{Name: c.Name, Version: c.Version, Generation: c.Generation}
	_, err := post[struct{}](ctx, admin, "retiring", "/admin/projections/retire", command)
	return to.report(err, fmt.Sprintf("Generation %d of %s%s is dropped.", c.Generation, c.Name, of))
}

// States of a generation.
const (
	building = "building"
	current  = "current"
	stopped  = "stopped"
	unfed    = "unfed"
)

func findGeneration(o adminapi.OverviewReply, id adminapi.GenerationID) (adminapi.GenerationReply, bool) {
	for _, g := range o.Projections {
		if g.GenerationID == id {
			return g, true
		}
	}
	return adminapi.GenerationReply{}, false
}

func (c *client) overview(ctx context.Context, doing string) (adminapi.OverviewReply, error) {
	return get[adminapi.OverviewReply](ctx, c, doing, "/admin/projections")
}

// generationRow is a row of the list of generations.
type generationRow struct {
	adminapi.GenerationID
	Live     either  `col:"live"`
	State    either  `col:"state"`
	Position string  `col:"position,wide"`
	Lag      float64 `col:"lag,span"`
	Rows     int64   `col:"rows,count"`
	Size     int64   `col:"size,bytes"`
	Parked   int     `col:"parked"`
}

func generationRows(all []adminapi.GenerationReply) (rows []generationRow) {
	for _, g := range all {
		rows = append(rows, generationRow{
			g.GenerationID, either{liveOrNot(g), strconv.FormatBool(g.Live)}, either{stateAndShare(g), g.State}, g.Position,
			g.Lag, g.Rows, g.Size, g.Parked,
		})
	}
	return rows
}

func liveOrNot(g adminapi.GenerationReply) string {
	switch {
	case g.Live:
		return "yes"
	case g.Promote:
		return "when built"
	}
	return "no"
}

func stateAndShare(g adminapi.GenerationReply) string {
	if g.State == building {
		return building + " " + progress.Percent(g.Progress)
	}
	return g.State
}
