package main

import (
	"fmt"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/recital-tts/recital/cmd/recitalctl/progress"
)

// noteEvery is how often a stage is noted where no bar can be drawn.
const noteEvery = 10 * time.Second

// stage shows what a long command is doing: a bar on a terminal, lines elsewhere.
type stage struct {
	to    terminal
	name  string
	total int64 // 0 if unknown
	done  int64
	bars  *mpb.Progress
	bar   *mpb.Bar
	noted time.Time
}

func newStage(to terminal) *stage { return &stage{to: to} }

// begin ends the stage before, and begins one with an amount of work.
func (s *stage) begin(name string, total int64) {
	if s.name == name && s.total == total {
		return
	}
	s.close()
	s.name, s.total, s.done, s.noted = name, total, 0, time.Now()
	if s.to.screen != nil && total > 0 {
		s.bars = mpb.New(mpb.WithOutput(s.to.screen), mpb.WithWidth(40))
		s.bar = s.bars.AddBar(total, mpb.PrependDecorators(decor.Name(name+" ")), mpb.AppendDecorators(decor.Percentage()))
	}
}

// add counts what was done.
func (s *stage) add(done int64) { s.set(s.done + done) }

// set says how much was done.
func (s *stage) set(done int64) {
	s.done = done
	if s.bar != nil {
		s.bar.SetCurrent(min(done, s.total-1))
		return
	}
	if time.Since(s.noted) < noteEvery || s.total == 0 {
		return
	}
	s.noted = time.Now()
	fmt.Fprintf(s.to.notes, "%s: %s\n", s.name, progress.Percent(float64(done)/float64(s.total)))
}

// close ends the last stage, and leaves its bar on the screen.
func (s *stage) close() {
	if s.bar == nil {
		return
	}
	s.bar.SetCurrent(s.total)
	s.bar.Abort(false)
	s.bars.Wait()
	s.bar, s.bars = nil, nil
}
