package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/recital-tts/recital/cmd/recitalctl/progress"
)

// pollInterval is the interval at which recitald is polled.
const pollInterval = 500 * time.Millisecond

// follower displays how recitald builds generations, until all are built.
type follower struct {
	admin     *client
	ids       []generationID
	promote   bool
	maxOutage time.Duration // 0 means no limit
	display   progress.Display

	paces map[generationID]*progress.Pace
	away  time.Time // since when recitald has not responded; zero while it does
}

func (f *follower) run(ctx context.Context) ([]generation, error) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		all, err := f.admin.overview(ctx)
		if ctx.Err() != nil {
			return nil, f.interrupted()
		}
		if err == nil {
			f.noteBack()
			if built, err := f.look(all); built != nil || err != nil {
				return built, err
			}
		} else if err := f.bear(err); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, f.interrupted()
		case <-tick.C:
		}
	}
}

// look displays the progress of the generations, and returns them when all are built.
func (f *follower) look(all overview) ([]generation, error) {
	var (
		found    []generation
		statuses []progress.Status
		failure  error
		waiting  bool
	)
	for _, id := range f.ids {
		g, ok := all.find(id)
		if !ok {
			return nil, fmt.Errorf("%s is gone: it was retired, which cancels the rebuild", id)
		}
		status := f.status(g)
		if status.Failed && failure == nil {
			failure = stoppedError(g)
		}
		waiting = waiting || !status.Done
		found, statuses = append(found, g), append(statuses, status)
	}
	f.display.Show(statuses)
	if failure != nil || waiting {
		return nil, failure
	}
	return found, nil
}

func (f *follower) status(g generation) progress.Status {
	pace := f.paces[g.generationID]
	if pace == nil {
		pace = &progress.Pace{}
		f.paces[g.generationID] = pace
	}
	pace.See(time.Now(), g.Events, g.Progress)
	left, known := pace.Left()
	if !known {
		left = -1
	}
	status := progress.Status{
		Name: printable(g.Name), Version: g.Version, Generation: g.Generation,
		State: printable(g.State), Reason: printable(g.Reason), Live: g.Live, Failed: g.State == stopped,
		Done:     g.Live || g.State == current && !f.promote && !g.Promote,
		Position: printable(g.Position), Share: g.Progress, Events: g.Events, Rate: pace.Rate(), Left: left,
	}
	if status.Done {
		status.Share, status.Left = 1, 0 // the head of the log may be slightly ahead of it
	}
	return status
}

// bear waits while recitald does not respond, for example because it restarts.
func (f *follower) bear(err error) error {
	var told *failure
	if !errors.As(err, &told) || !told.passing {
		return fmt.Errorf("following the rebuild: %w", err)
	}
	now := time.Now()
	if f.away.IsZero() {
		f.away = now
		f.display.Note(fmt.Sprintf("recitald does not answer; the rebuild goes on when it is back (%v)", err))
	}
	if f.maxOutage > 0 && now.Sub(f.away) >= f.maxOutage {
		return fmt.Errorf("recitald has not answered for %s: %w\n  follow again:  %s", progress.Span(f.maxOutage), err, f.again())
	}
	return nil
}

func (f *follower) noteBack() {
	if !f.away.IsZero() {
		f.display.Note("recitald is back")
		f.away = time.Time{}
	}
}

// again returns the command that continues following.
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
		fmt.Fprintf(&hints, "\n  cancel:        recitalctl projections retire %s --generation %d", printable(id.Name), id.Generation)
	}
	return fail(exitInterrupted, "interrupted; the rebuild goes on in recitald%s", hints.String())
}

func stoppedError(g generation) error {
	const hints = `%s stopped: %s
  see the event:    recitalctl projections parked list
  once it is fixed: recitalctl projections parked retry %[3]s --generation %[4]d --event ID
  go on without:    recitalctl projections parked skip ID --reason TEXT
  give up:          recitalctl projections retire %[3]s --generation %[4]d`
	return fail(exitFailed, hints, g, printable(g.Reason), printable(g.Name), g.Generation)
}
