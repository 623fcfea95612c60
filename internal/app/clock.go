package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/standins"
)

// planTime is the time of plans, periods, grace and payments. It is real time, or in mode dev the payment sandbox's
// clock.
type planTime struct {
	now func() time.Time // of commands and reads
	due func() time.Time // of to-do lists
}

func realTime() planTime { return planTime{now: time.Now, due: time.Now} }

// clockFile contains the duration by which the clock of mode dev is ahead of real time.
const clockFile = "clock-ahead"

const (
	longestAhead = 100 * 365 * 24 * time.Hour
	// turn is the step by which the clocks move, so that neither side sees the other far in the past or the future.
	turn = 24 * time.Hour
)

// devClock is the clock of mode dev. It never goes back.
type devClock struct {
	keep    func(content []byte) error // in the file
	turning sync.Mutex

	ahead atomic.Int64 // nanoseconds ahead of real time, for commands and reads
	due   atomic.Int64 // the same for to-do lists; moved last
}

// openDevClock opens the clock with its state in a file.
func openDevClock(path string, keep func(content []byte) error) (*devClock, error) {
	c := &devClock{keep: keep}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	ahead, err := time.ParseDuration(strings.TrimSpace(string(content)))
	if err != nil || ahead < 0 || ahead > longestAhead {
		return nil, fmt.Errorf("the file %s does not say by how much the clock is ahead, such as 744h", path)
	}
	c.ahead.Store(int64(ahead))
	c.due.Store(int64(ahead))
	return c, nil
}

func (c *devClock) planTime() planTime {
	read := func(ahead *atomic.Int64) func() time.Time {
		return func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	}
	return planTime{now: read(&c.ahead), due: read(&c.due)}
}

// reach moves the commands' clock forward until it is ahead by a duration, which is first written to the file.
func (c *devClock) reach(ahead time.Duration) error {
	if ahead <= time.Duration(c.ahead.Load()) {
		return nil
	}
	if err := c.keep([]byte(ahead.String() + "\n")); err != nil {
		return fmt.Errorf("keeping the clock: %w", err)
	}
	c.ahead.Store(int64(ahead))
	return nil
}

// advance moves the clock and the sandbox's forward together, in turns: commands first, because the sandbox sends
// webhooks while it moves, and to-do lists last. If ctx ends in between, the next call or start catches up.
func (s *standIns) advance(ctx context.Context, by time.Duration) (standins.Status, error) {
	c := s.clock
	c.turning.Lock()
	defer c.turning.Unlock()
	status, err := s.status(ctx)
	if err != nil {
		return status, err
	}
	target := max(time.Duration(c.ahead.Load()), time.Until(status.Now)) + by
	if by < 0 || by > longestAhead || target > longestAhead {
		return status, domain.Refuse(domain.Invalid, "The clock cannot go back, nor be more than 100 years ahead")
	}
	for done := false; !done; {
		theirs := time.Until(status.Now)
		next := min(target, max(theirs, 0)+turn)
		done = next == target
		if err := c.reach(next); err != nil {
			return status, err
		}
		body, err := json.Marshal(map[string]string{"duration": max(next-theirs, 0).String()})
		if err != nil {
			return status, err
		}
		if status, err = s.order(ctx, "advance", body); err != nil {
			return status, err
		}
		c.due.Store(max(c.due.Load(), int64(next)))
	}
	return status, nil
}

type advanceRequest struct {
	Duration string `body:"duration" required:"true" maxlen:"40" doc:"By how much, such as 744h."`
}

func (s *standIns) advanceBy(call *web.Call, in advanceRequest) (web.Reply, error) {
	if s.sandboxURL() == "" {
		return web.Reply{}, errNoSandbox()
	}
	by, err := time.ParseDuration(in.Duration)
	if err != nil {
		return web.Reply{}, domain.Refuse(domain.Invalid, "The duration is not one such as 744h")
	}
	status, err := s.advance(call, by)
	return web.JSON(status), err
}
