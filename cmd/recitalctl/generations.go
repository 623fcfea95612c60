package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/recital-tts/recital/cmd/recitalctl/progress"
)

// generationID identifies a generation of a read model.
type generationID struct {
	Name       string `json:"name"`
	Version    int    `json:"version"`
	Generation int    `json:"generation"`
}

func (id generationID) String() string {
	return fmt.Sprintf("generation %d of %s version %d", id.Generation, printable(id.Name), id.Version)
}

// generation is the admin API's description of a generation.
type generation struct {
	generationID
	Live     bool     `json:"live"`
	Promote  bool     `json:"promote"`
	State    string   `json:"state"`
	Reason   string   `json:"reason,omitempty"`
	Position string   `json:"position"`
	Progress float64  `json:"progress"` // 0 to 1
	Events   int64    `json:"events"`
	Lag      float64  `json:"lag"` // seconds
	Rows     int64    `json:"rows"`
	Size     int64    `json:"size"` // bytes
	Parked   int      `json:"parked"`
	MovedAt  *float64 `json:"moved_at"` // Unix seconds
	Created  *float64 `json:"created_at"`
}

// States of a generation.
const (
	building = "building"
	current  = "current"
	stopped  = "stopped"
	unfed    = "unfed"
)

type overview struct {
	Projections []generation `json:"projections"`
	Head        string       `json:"head"`
	At          *float64     `json:"at"` // Unix seconds
}

func (o overview) find(id generationID) (generation, bool) {
	for _, g := range o.Projections {
		if g.generationID == id {
			return g, true
		}
	}
	return generation{}, false
}

func (c *client) overview(ctx context.Context) (overview, error) {
	var all overview
	_, err := c.get(ctx, "/admin/projections", &all)
	if err == nil && all.Head == "" {
		err = c.notUnderstood()
	}
	return all, err
}

// generationsAnswer contains the generations that a command affected.
type generationsAnswer struct {
	Generations []generationID `json:"generations"`
}

func (c *client) change(ctx context.Context, path string, command any) ([]generationID, error) {
	var answer generationsAnswer
	if _, err := c.post(ctx, path, command, &answer); err != nil {
		return nil, err
	}
	if len(answer.Generations) == 0 {
		return nil, c.notUnderstood()
	}
	return answer.Generations, nil
}

var idColumns = []column[generationID]{
	{name: "name", people: func(id generationID) string { return id.Name }},
	{name: "version", people: func(id generationID) string { return strconv.Itoa(id.Version) }},
	{name: "generation", people: func(id generationID) string { return strconv.Itoa(id.Generation) }},
}

func generationColumns() []column[generation] {
	var columns []column[generation]
	for _, c := range idColumns {
		columns = append(columns, column[generation]{name: c.name, people: func(g generation) string { return c.people(g.generationID) }})
	}
	return append(columns,
		column[generation]{name: "live", people: liveOrNot, raw: func(g generation) string { return strconv.FormatBool(g.Live) }},
		column[generation]{name: "state", people: stateAndShare, raw: func(g generation) string { return g.State }},
		column[generation]{name: "position", people: func(g generation) string { return g.Position }, wide: true},
		column[generation]{name: "lag", people: func(g generation) string { return progress.Span(time.Duration(g.Lag * float64(time.Second))) },
			raw: func(g generation) string { return strconv.FormatFloat(g.Lag, 'f', -1, 64) }},
		column[generation]{name: "rows", people: func(g generation) string { return progress.Count(g.Rows) }, raw: func(g generation) string { return strconv.FormatInt(g.Rows, 10) }},
		column[generation]{name: "size", people: func(g generation) string { return inBytes(g.Size) }, raw: func(g generation) string { return strconv.FormatInt(g.Size, 10) }},
		column[generation]{name: "parked", people: func(g generation) string { return strconv.Itoa(g.Parked) }},
	)
}

func liveOrNot(g generation) string {
	switch {
	case g.Live:
		return "yes"
	case g.Promote:
		return "when built"
	}
	return "no"
}

func stateAndShare(g generation) string {
	if g.State == building {
		return building + " " + progress.Percent(g.Progress)
	}
	return g.State
}

// inBytes formats a size for people.
func inBytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n), 0
	for size >= 1<<10 && unit < 4 {
		size, unit = size/(1<<10), unit+1
	}
	return fmt.Sprintf("%.1f %ciB", size, " KMGT"[unit])
}
