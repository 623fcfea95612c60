package journal_test

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
)

// counterEvent is an event of the aggregate of these tests: a limited sum of named numbers.
type counterEvent interface{ counterEvent() }

type added struct {
	Name   string `json:"name"`
	Number int    `json:"number"`
}

type snapshotTaken struct {
	Sum   int      `json:"sum"`
	Names []string `json:"names"`
}

// foreign is an event of another aggregate.
type foreign struct {
	Text string `json:"text"`
}

func (added) counterEvent()          {}
func (snapshotTaken) counterEvent()  {}
func (snapshotTaken) ReplacesState() {}

type state struct {
	Sum   int
	Names []string
	Since int // events since the last snapshot
}

func evolve(s state, event counterEvent) state {
	switch e := event.(type) {
	case added:
		return state{Sum: s.Sum + e.Number, Names: append(slices.Clone(s.Names), e.Name), Since: s.Since + 1}
	case snapshotTaken:
		return state{Sum: e.Sum, Names: e.Names}
	}
	return s
}

const limit = 100

// add adds a number under a name, once.
type add struct {
	Name   string
	Number int
}

func (c add) Decide(s state) ([]counterEvent, error) {
	switch {
	case slices.Contains(s.Names, c.Name):
		return nil, nil
	case s.Sum+c.Number > limit:
		return nil, errLimit
	}
	return []counterEvent{added(c)}, nil
}

var errLimit = domain.Refuse(domain.Invalid, "The sum is over the limit")

// snapshotEvery is the number of events between snapshots.
const snapshotEvery = 5

func (s state) snapshot(time.Time) []counterEvent {
	if s.Since < snapshotEvery {
		return nil
	}
	return []counterEvent{snapshotTaken{Sum: s.Sum, Names: s.Names}}
}

type (
	command = journal.Decider[state, counterEvent]
	stream  = journal.Stream[state, counterEvent]
)

// whole returns a stream without snapshots.
func whole(name string) stream { return stream{Name: name, Evolve: evolve} }

// withSnapshots returns a stream with snapshots.
func withSnapshots(name string) stream {
	return stream{Name: name, Evolve: evolve, Snapshot: state.snapshot}
}
