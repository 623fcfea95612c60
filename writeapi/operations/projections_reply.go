package operations

import (
	"time"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
)

// generationID names a generation in replies.
type generationID struct {
	Name       string `json:"name"`
	Version    int    `json:"version"`
	Generation int    `json:"generation"`
}

func idOf(id feed.GenerationID) generationID {
	return generationID{Name: id.Name, Version: id.Version, Generation: id.Number}
}

type generationsReply struct {
	Generations []generationID `json:"generations"`
}

func generationsOf(ids []feed.GenerationID) generationsReply {
	told := make([]generationID, len(ids))
	for i, id := range ids {
		told[i] = idOf(id)
	}
	return generationsReply{told}
}

type overviewReply struct {
	Projections []generationReply `json:"projections"`
	Head        string            `json:"head"`
	At          *float64          `json:"at"`
	Instances   []string          `json:"instances"` // that are connected to Postgres; a long name may be cut off
}

type generationReply struct {
	generationID
	Live      bool     `json:"live"`
	Promote   bool     `json:"promote"` // becomes live as soon as it has caught up
	State     string   `json:"state"`
	Reason    string   `json:"reason,omitempty"`
	Instance  string   `json:"instance"` // that feeds it; "" for none
	Position  string   `json:"position"`
	Progress  float64  `json:"progress"` // 0 to 1
	Events    int64    `json:"events"`
	Lag       float64  `json:"lag"`  // seconds
	Rows      int64    `json:"rows"` // estimated
	Size      int64    `json:"size"` // bytes
	Parked    int      `json:"parked"`
	MovedAt   *float64 `json:"moved_at"`
	CreatedAt *float64 `json:"created_at"`
}

func overviewOf(o feed.Overview, instances []string) overviewReply {
	told := overviewReply{Projections: make([]generationReply, len(o.Generations)), Head: o.Head.String(),
		At: seconds(o.At), Instances: append([]string{}, instances...)}
	for i, g := range o.Generations {
		told.Projections[i] = generationReply{
			generationID: generationID{Name: g.Name, Version: g.Version, Generation: g.Number},
			Live:         g.Live, Promote: g.Promote, State: string(g.State), Reason: g.Reason,
			Instance: g.Instance, Position: g.Position.String(), Progress: progressOf(g.Position, o.Head),
			Events: g.Events, Lag: g.Lag.Seconds(), Rows: g.Rows, Size: g.Bytes, Parked: g.Parked,
			MovedAt: seconds(g.MovedAt), CreatedAt: seconds(g.Created),
		}
	}
	return told
}

// progressOf is the part of the log that is behind a generation. Positions are no counts, but they grow with the log.
func progressOf(position, head eventlog.Position) float64 {
	if position.Compare(head) >= 0 || head.Commit == 0 {
		return 1
	}
	return float64(position.Commit) / float64(head.Commit)
}

type parkedReply struct {
	Parked []parkedEventReply `json:"parked"`
	Next   *string            `json:"next"` // after of the next page, null when there is none; that page may be empty
}

type parkedEventReply struct {
	generationID
	EventID  string   `json:"event_id"`
	Type     string   `json:"type"`
	Stream   string   `json:"stream"`
	Revision uint64   `json:"revision"`
	Position string   `json:"position"`
	State    string   `json:"state"`
	Reason   string   `json:"reason"`
	ParkedAt *float64 `json:"parked_at"`
}

func parkedOf(page []feed.Parked, more bool) parkedReply {
	told := parkedReply{Parked: make([]parkedEventReply, len(page))}
	for i, e := range page {
		told.Parked[i] = parkedEventReply{
			generationID: idOf(e.GenerationID), EventID: e.Event.String(), Type: e.Type, Stream: e.Stream,
			Revision: e.Revision, Position: e.Position.String(), State: string(e.State), Reason: e.Reason,
			ParkedAt: seconds(e.At),
		}
	}
	if more {
		next := page[len(page)-1].Position.String()
		told.Next = &next
	}
	return told
}

// seconds is a time as Unix seconds with milliseconds; nil for no time.
func seconds(t time.Time) *float64 {
	if t.IsZero() {
		return nil
	}
	unix := float64(t.UnixMilli()) / 1000
	return &unix
}
