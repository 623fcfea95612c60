package operations

import (
	"time"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/http/adminapi"
)

func idOf(id feed.GenerationID) adminapi.GenerationID {
	return adminapi.GenerationID{Name: id.Name, Version: id.Version, Generation: id.Number}
}

func generationsOf(ids []feed.GenerationID) adminapi.GenerationsReply {
	told := make([]adminapi.GenerationID, len(ids))
	for i, id := range ids {
		told[i] = idOf(id)
	}
	return adminapi.GenerationsReply{Generations: told}
}

func overviewOf(o feed.Overview, instances []string) adminapi.OverviewReply {
	told := adminapi.OverviewReply{
		Projections: make([]adminapi.GenerationReply, len(o.Generations)), Head: o.Head.String(),
		At: seconds(o.At), Instances: append([]string{}, instances...),
	}
	for i, g := range o.Generations {
		told.Projections[i] = adminapi.GenerationReply{
			GenerationID: adminapi.GenerationID{Name: g.Name, Version: g.Version, Generation: g.Number},
			Live:         g.Live, Promote: g.Promote, State: string(g.State), Reason: g.Reason,
			Instance: g.Instance, Position: g.Position.String(), Progress: progressOf(g.Position, o.Head),
			Events: g.Events, Lag: g.Lag.Seconds(), Rows: g.Rows, Size: g.Bytes, Parked: g.Parked,
			MovedAt: seconds(g.MovedAt), CreatedAt: seconds(g.Created),
		}
	}
	return told
}

// progressOf returns the part of the log that a generation has handled. Positions are not counts, but they grow with
// the log.
func progressOf(position, head eventlog.Position) float64 {
	if position.Compare(head) >= 0 || head.Commit == 0 {
		return 1
	}
	return float64(position.Commit) / float64(head.Commit)
}

// blocking is the state of a parked event: generations have stopped before it.
const blocking = "blocking"

func parkedOf(page []feed.Parked, more bool) adminapi.ParkedReply {
	told := adminapi.ParkedReply{Parked: make([]adminapi.ParkedEventReply, len(page))}
	for i, e := range page {
		told.Parked[i] = adminapi.ParkedEventReply{
			GenerationID: idOf(e.GenerationID), EventID: e.Event.String(), Type: e.Type, Stream: e.Stream,
			Revision: e.Revision, Position: e.Position.String(), State: blocking, Reason: e.Reason,
			ParkedAt: seconds(e.At),
		}
	}
	if more {
		next := page[len(page)-1].Position.String()
		told.Next = &next
	}
	return told
}

// seconds returns a time as Unix seconds with milliseconds; nil for the zero time.
func seconds(t time.Time) *float64 {
	if t.IsZero() {
		return nil
	}
	unix := float64(t.UnixMilli()) / 1000
	return &unix
}
