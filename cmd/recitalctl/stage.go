package main

import (
	"time"

	"github.com/recital-tts/recital/cmd/recitalctl/progress"
)

// stageRefresh is how often the progress of a stage is updated.
const stageRefresh = 200 * time.Millisecond

// stage shows the progress of a long command: a bar on a terminal, lines every few seconds elsewhere.
type stage struct {
	to      terminal
	name    string
	total   int64         // 0 if unknown
	details func() string // nil for the share that is done
	done    int64
	display *progress.Display // nil before the first stage
	shown   time.Time
}

func newStage(to terminal) *stage { return &stage{to: to} }

// begin ends the stage before, and begins one with an amount of work.
func (s *stage) begin(name string, total int64) {
	if s.display != nil && s.name == name && s.total == total {
		return
	}
	s.close()
	s.name, s.total, s.done, s.shown = name, total, 0, time.Time{}
	s.display = progress.New(s.to.screen, s.to.notes)
}

// add adds to the progress.
func (s *stage) add(done int64) { s.set(s.done + done) }

// set sets the progress.
func (s *stage) set(done int64) {
	s.done = done
	if now := time.Now(); now.Sub(s.shown) >= stageRefresh {
		s.shown = now
		s.show()
	}
}

func (s *stage) show() {
	item := progress.Item{Title: s.name, Share: -1}
	if s.total > 0 {
		item.Share = min(float64(s.done)/float64(s.total), 1)
		item.Details = progress.Percent(item.Share)
	}
	if s.details != nil {
		item.Details = s.details()
	}
	s.display.Show(item)
}

// close ends the last stage, and leaves its bar on the screen.
func (s *stage) close() {
	if s.display == nil {
		return
	}
	if !s.shown.IsZero() && s.to.screen != nil {
		s.show()
	}
	s.display.Close()
	s.display = nil
}
