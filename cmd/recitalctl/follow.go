package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recital-tts/recital/cmd/recitalctl/progress"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/process/pause"
)

type rebuildProjections struct {
	Names   []string `arg:"" optional:"" name:"name" help:"Read models."`
	All     bool     `help:"All read models of the recitald, in one pass over the log."`
	Promote bool     `help:"${rebuild_projections_promote}"`
	following
}

// Help implements kong.HelpProvider.
func (*rebuildProjections) Help() string {
	return `Examples:
  recitalctl projections rebuild account
  recitalctl projections rebuild account usage --promote
  recitalctl projections rebuild --all --promote --format json

recitald rebuilds. recitalctl starts the rebuild, or joins a running one, and follows it with bars on a terminal, or
with lines elsewhere. Readers see the live generation meanwhile. Ctrl-C only ends the following (exit code 5):
projections follow resumes it, and projections retire cancels the rebuild. A generation that is not promoted is fed
next to the live one until it is promoted or retired.`
}

// Validate implements kong's check of arguments.
func (c *rebuildProjections) Validate() error {
	if c.All == (len(c.Names) > 0) {
		return errors.New("name read models, or give --all")
	}
	return c.following.Validate()
}

// Run starts the rebuild, or finds the running one, and follows it.
func (c *rebuildProjections) Run(ctx context.Context, admin *client, to terminal) error {
	command := struct {
		Projections []string `json:"projections"`
		All         bool     `json:"all"`
		Promote     bool     `json:"promote"`
	}{append([]string{}, c.Names...), c.All, c.Promote}
	const path = "/admin/projections/rebuild"
	begun, err := post[adminapi.GenerationsReply](ctx, admin, "beginning the rebuild", path, command)
	if err != nil {
		return err
	}
	return c.follow(ctx, admin, begun.Generations, c.Promote, to)
}

type followProjections struct {
	Names []string `arg:"" optional:"" name:"name" help:"Read models; all, when none is named."`
	following
}

// Help implements kong.HelpProvider.
func (*followProjections) Help() string {
	return `Examples:
  recitalctl projections follow
  recitalctl projections follow account --format json

It starts no rebuild. If none is running, it ends.`
}

// Run follows the generations that are being built.
func (c *followProjections) Run(ctx context.Context, admin *client, to terminal) error {
	all, err := admin.overview(ctx, "looking for what is being built")
	if err != nil {
		return err
	}
	ids := beingBuilt(all, c.Names)
	if len(ids) == 0 {
		fmt.Fprintln(to.notes, "Nothing is being built.")
		return nil
	}
	return c.follow(ctx, admin, ids, false, to)
}

// beingBuilt returns the generations that will be promoted, and unfinished ones that are newer than the live one.
func beingBuilt(o adminapi.OverviewReply, names []string) []adminapi.GenerationID {
	live := map[adminapi.GenerationID]int{} // by name and version
	for _, g := range o.Projections {
		if g.Live {
			live[adminapi.GenerationID{Name: g.Name, Version: g.Version}] = g.Generation
		}
	}
	var ids []adminapi.GenerationID
	for _, g := range o.Projections {
		newer := g.Generation > live[adminapi.GenerationID{Name: g.Name, Version: g.Version}]
		wanted := len(names) == 0 || slices.Contains(names, g.Name)
		if wanted && !g.Live && (g.Promote || newer && g.State != current) {
			ids = append(ids, g.GenerationID)
		}
	}
	return ids
}

// following has the flags of commands that follow a rebuild.
type following struct {
	MaxOutage time.Duration `default:"2m" help:"Maximum outage of recitald while following; 0 means no limit."`
	Format    format        `default:"table" enum:"table,json" help:"${following_format}"`
}

// Validate implements kong's check of arguments.
func (f following) Validate() error {
	if f.MaxOutage < 0 {
		return errors.New("--max-outage cannot be negative")
	}
	return nil
}

// follow shows the progress of generations until all are built and, if they are to be promoted, live.
func (f following) follow(
	ctx context.Context, admin *client, ids []adminapi.GenerationID, promote bool, to terminal,
) error {
	display := f.display(to)
	follower := follower{
		admin: admin, ids: ids, promote: promote, maxOutage: f.MaxOutage, display: display,
		paces: map[adminapi.GenerationID]*progress.Pace{},
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

func whatNow(built []adminapi.GenerationReply) string {
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

// pollInterval is the interval of requests for the progress.
const pollInterval = 500 * time.Millisecond

// follower shows the progress of generations until all are built.
type follower struct {
	admin     *client
	ids       []adminapi.GenerationID
	promote   bool
	maxOutage time.Duration // 0 means no limit
	display   *progress.Display

	paces map[adminapi.GenerationID]*progress.Pace
	away  time.Time // start of an outage of recitald; zero while it responds
}

func (f *follower) run(ctx context.Context) ([]adminapi.GenerationReply, error) {
	for {
		all, err := f.admin.overview(ctx, "following the rebuild")
		if ctx.Err() != nil {
			return nil, f.interrupted()
		}
		if err == nil {
			f.noteBack()
			if built, err := f.look(all); built != nil || err != nil {
				return built, err
			}
		} else if err := f.tolerate(err); err != nil {
			return nil, err
		}
		if pause.For(ctx, pollInterval) != nil {
			return nil, f.interrupted()
		}
	}
}

// look shows the progress of the generations, and returns them when all are built.
func (f *follower) look(all adminapi.OverviewReply) ([]adminapi.GenerationReply, error) {
	var (
		found   []adminapi.GenerationReply
		items   []progress.Item
		failure error
		waiting bool
	)
	for _, id := range f.ids {
		g, ok := findGeneration(all, id)
		if !ok {
			return nil, fmt.Errorf("%s is gone: it was retired, which cancels the rebuild", printable(id.String()))
		}
		item := f.item(g)
		if item.Failed && failure == nil {
			failure = stoppedError(g)
		}
		waiting = waiting || !item.Done
		found, items = append(found, g), append(items, item)
	}
	f.display.Show(items...)
	if failure != nil || waiting {
		return nil, failure
	}
	return found, nil
}

// item returns the progress of a generation.
func (f *follower) item(g adminapi.GenerationReply) progress.Item {
	pace := f.paces[g.GenerationID]
	if pace == nil {
		pace = &progress.Pace{}
		f.paces[g.GenerationID] = pace
	}
	now := time.Now()
	pace.See(now, g.Events, g.Progress)
	b := buildObject{
		At: float64(now.UnixMilli()) / 1000, Name: printable(g.Name), Version: g.Version, Generation: g.Generation,
		State: printable(g.State), Reason: printable(g.Reason), Live: g.Live,
		Done:     g.Live || g.State == current && !f.promote && !g.Promote,
		Position: printable(g.Position), Progress: g.Progress, Events: g.Events, Rate: pace.Rate(),
	}
	if left, known := pace.Left(); known {
		b.Left = new(left.Seconds())
	}
	if b.Done {
		b.Progress, b.Left = 1, new(0.0) // the head of the log may have moved on
	}
	return progress.Item{
		Title: fmt.Sprintf("%s v%d g%d", b.Name, b.Version, b.Generation), State: fmt.Sprint(b.State, b.Live),
		Share:   b.Progress,
		Details: b.details(), Object: b, Done: b.Done, Failed: g.State == stopped,
	}
}

// buildObject is the progress of a generation for programs.
type buildObject struct {
	At         float64  `json:"at"` // Unix seconds
	Name       string   `json:"name"`
	Version    int      `json:"version"`
	Generation int      `json:"generation"`
	State      string   `json:"state"`
	Reason     string   `json:"reason,omitempty"`
	Live       bool     `json:"live"`
	Done       bool     `json:"done"`
	Position   string   `json:"position"`
	Progress   float64  `json:"progress"` // 0 to 1
	Events     int64    `json:"events"`
	Rate       float64  `json:"events_per_second"`
	Left       *float64 `json:"seconds_left"` // nil if unknown
}

// details returns the numbers for people.
func (b buildObject) details() string {
	text := fmt.Sprintf("%-8s %5s  %s events", b.State, progress.Percent(b.Progress), progress.Count(b.Events))
	switch {
	case b.State == stopped:
		return text
	case b.Live:
		return text + "  live"
	case b.Done:
		return text + "  done"
	}
	if b.Rate > 0 {
		text += fmt.Sprintf("  %s/s", progress.Count(int64(b.Rate)))
	}
	if b.Left != nil && *b.Left > 0 {
		text += fmt.Sprintf("  %s left", progress.Span(time.Duration(*b.Left*float64(time.Second))))
	}
	return text
}

// tolerate returns an error if recitald has not responded for too long, or cannot recover.
func (f *follower) tolerate(err error) error {
	if !isPassing(err) {
		return err
	}
	now := time.Now()
	if f.away.IsZero() {
		f.away = now
		f.display.Note(fmt.Sprintf("recitald does not answer; the rebuild continues when it is back (%v)", err))
	}
	if f.maxOutage > 0 && now.Sub(f.away) >= f.maxOutage {
		return fmt.Errorf("recitald has not answered for %s: %w\n  follow again:  %s", progress.Span(f.maxOutage), err,
			f.again())
	}
	return nil
}

func (f *follower) noteBack() {
	if !f.away.IsZero() {
		f.display.Note("recitald is back")
		f.away = time.Time{}
	}
}

// again returns the command for following again.
func (f *follower) again() string {
	command := "recitalctl projections follow"
	for _, id := range f.ids {
		command += " " + printable(id.Name)
	}
	return command
}

func (f *follower) interrupted() error {
	var hints strings.Builder
	fmt.Fprintf(&hints, "\n  follow again:  %s\n  look:          recitalctl projections list", f.again())
	for _, id := range f.ids {
		fmt.Fprintf(&hints, "\n  cancel:        recitalctl projections retire %s --generation %d", printable(id.Name),
			id.Generation)
	}
	return fail(exitInterrupted, "interrupted; the rebuild continues in recitald%s", hints.String())
}

func stoppedError(g adminapi.GenerationReply) error {
	const hints = `%s stopped: %s
  see the event:    recitalctl projections parked list
  once it is fixed: recitalctl projections parked retry %[3]s --generation %[4]d --event ID
  skip the event:   recitalctl projections parked skip ID --reason TEXT
  give up:          recitalctl projections retire %[3]s --generation %[4]d`
	return fail(exitFailed, hints, printable(g.String()), printable(g.Reason), printable(g.Name), g.Generation)
}
