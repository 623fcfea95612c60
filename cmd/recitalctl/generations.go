package main

import (
	"context"
	"fmt"
	"strconv"

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

func (c *client) overview(ctx context.Context, doing string) (all overview, err error) {
	return all, c.get(ctx, doing, "/admin/projections", &all)
}

// generationsAnswer contains the generations that a command affected.
type generationsAnswer struct {
	Generations []generationID `json:"generations"`
}

func (c *client) change(ctx context.Context, doing, path string, command any) ([]generationID, error) {
	var answer generationsAnswer
	err := c.post(ctx, doing, path, command, &answer)
	return answer.Generations, err
}

// generationRow is a generation in a list.
type generationRow struct {
	generationID
	Live     either   `col:"live"`
	State    either   `col:"state"`
	Position string   `col:"position,wide"`
	Lag      seconds  `col:"lag"`
	Rows     count    `col:"rows"`
	Size     byteSize `col:"size"`
	Parked   int      `col:"parked"`
}

func generationRows(all []generation) (rows []generationRow) {
	for _, g := range all {
		rows = append(rows, generationRow{
			g.generationID, either{liveOrNot(g), strconv.FormatBool(g.Live)}, either{stateAndShare(g), g.State}, g.Position,
			seconds(g.Lag), count(g.Rows), byteSize(g.Size), g.Parked,
		})
	}
	return rows
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
