package progress

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// every is the interval at which a generation whose state does not change is printed.
const every = 5 * time.Second

// Lines prints a line for a generation when its state changes, and at intervals.
type Lines struct {
	out    io.Writer // of the lines
	notes  io.Writer
	format func(Status, time.Time) string
	shown  map[string]shown
}

type shown struct {
	status Status
	at     time.Time
}

// NewLines returns Lines for people.
func NewLines(notes io.Writer) *Lines {
	return &Lines{out: notes, notes: notes, format: line, shown: map[string]shown{}}
}

// NewJSON returns Lines for programs, each of which is a JSON object, on out.
func NewJSON(out, notes io.Writer) *Lines {
	return &Lines{out: out, notes: notes, format: object, shown: map[string]shown{}}
}

// Show implements Display.
func (l *Lines) Show(all []Status) { l.show(all, time.Now()) }

func (l *Lines) show(all []Status, now time.Time) {
	for _, status := range all {
		before, known := l.shown[status.Title()]
		if known && !status.changedFrom(before.status) && (before.status.ended() || now.Sub(before.at) < every) {
			continue
		}
		l.shown[status.Title()] = shown{status, now}
		fmt.Fprintln(l.out, l.format(status, now))
	}
}

func (s Status) changedFrom(before Status) bool {
	return s.State != before.State || s.Live != before.Live || s.ended() != before.ended()
}

func (s Status) ended() bool { return s.Done || s.Failed }

// Note implements Display.
func (l *Lines) Note(text string) { fmt.Fprintln(l.notes, text) }

// Close implements Display.
func (l *Lines) Close() {}

func line(s Status, _ time.Time) string { return fmt.Sprintf("%-16s %s", s.Title(), s.details()) }

// details returns the figures next to a bar or in a line.
func (s Status) details() string {
	what := fmt.Sprintf("%-8s %5s  %s events", s.State, Percent(s.Share), Count(s.Events))
	switch {
	case s.Failed:
		return what
	case s.Live:
		return what + "  live"
	case s.Done:
		return what + "  done"
	}
	if s.Rate > 0 {
		what += fmt.Sprintf("  %s/s", Count(int64(s.Rate)))
	}
	if s.Left > 0 {
		what += fmt.Sprintf("  %s left", Span(s.Left))
	}
	return what
}

type statusObject struct {
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
	Left       *float64 `json:"seconds_left"`
}

func object(s Status, at time.Time) string {
	told := statusObject{
		At: float64(at.UnixMilli()) / 1000, Name: s.Name, Version: s.Version, Generation: s.Generation, State: s.State, Reason: s.Reason,
		Live: s.Live, Done: s.Done, Position: s.Position, Progress: s.Share, Events: s.Events, Rate: s.Rate,
	}
	if s.Left >= 0 {
		seconds := s.Left.Seconds()
		told.Left = &seconds
	}
	text, err := json.Marshal(told)
	if err != nil { // a figure that is not a number
		return "{}"
	}
	return string(text)
}
