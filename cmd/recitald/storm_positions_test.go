package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"syscall"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// readChecker checks reads: an instance never shows an older state than before, or than after a write that it has
// answered. With a write's position, a read on any instance shows the write.
type readChecker struct {
	*usageChecker
	shown    map[*server]sight // by instance, until its restart
	position string            // of the last write with a position, "" before
	written  int64             // the minimum of billed characters at that position
	reads    int
}

// sight is the oldest state that an instance may show.
type sight struct {
	position   eventlog.Position
	characters int64
}

func newReadChecker(at *server, v stormClient) *readChecker {
	return &readChecker{usageChecker: newUsageCheckerOn("pro", at, v), shown: map[*server]sight{}}
}

func (p *readChecker) work(at *server, r *rand.Rand) error {
	switch r.IntN(4) {
	case 0:
		return p.write(at, int64(10+r.IntN(50)))
	case 1:
		if p.position != "" {
			return p.read(at, p.position)
		}
	}
	return p.read(at, "")
}

func (p *readChecker) write(at *server, characters int64) error {
	answer, err := p.ask(p.c.at(at).request(http.MethodPost, detailedRoute,
		speech{detailedRoute, "wav", characters}.order().encode()))
	switch {
	case errors.Is(err, syscall.ECONNREFUSED) || err == nil && answer.status != http.StatusOK:
		return nil
	case err != nil:
		p.possible += characters
		return nil
	}
	p.sure += characters
	p.position, p.written = answer.header.Get("X-Recital-Position"), p.sure
	if answer.header.Get("X-Recital-Stale") == "" {
		least := p.shown[at]
		least.characters = max(least.characters, p.sure)
		p.shown[at] = least
	}
	return nil
}

// read reads the account, at a minimum position unless that is "".
func (p *readChecker) read(at *server, position string) error {
	var headers []string
	if position != "" {
		headers = []string{"X-Recital-Min-Position", position}
	}
	least := p.shown[at]
	answer, err := p.ask(p.c.at(at).request(http.MethodGet, "/v1/account", nil, headers...))
	switch {
	case err == nil && answer.status >= 400 && answer.status < 500:
		return fmt.Errorf("a read of %s returns %d: %s", p.c.id, answer.status, answer.text())
	case err != nil || answer.status != http.StatusOK:
		return nil
	}
	p.reads++
	if position != "" {
		least.characters = max(least.characters, p.written)
	}
	now, err := sightOf(answer)
	if err != nil {
		return fmt.Errorf("a read of %s cannot be parsed: %w", p.c.id, err)
	}
	if now.position.Compare(least.position) < 0 || now.characters < least.characters {
		return fmt.Errorf("a read of %s at %s goes back from %v to %v", p.c.id, at.address, least, now)
	}
	p.shown[at] = now
	return nil
}

func sightOf(answer reply) (now sight, err error) {
	var shown accountView
	if err := json.Unmarshal(answer.body, &shown); err != nil {
		return sight{}, err
	}
	now.characters = shown.Usage.Characters
	now.position, err = eventlog.ParsePosition(answer.header.Get("X-Recital-Position"))
	return now, err
}

func (p *readChecker) String() string {
	return fmt.Sprintf("reads: %d reads; %d characters surely and %d possibly written", p.reads, p.sure, p.possible)
}
