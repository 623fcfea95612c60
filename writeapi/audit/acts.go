package audit

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

// actTimeout bounds the wait for the log before an act that is executed anyway.
const actTimeout = 2 * time.Second

// Acts records the acts of operators and auditors on the routes with web.Acts.
type Acts struct {
	Audit *audit.Audit
	Log   *slog.Logger
	Now   func() time.Time

	mu     sync.Mutex
	recent map[repeatable]time.Time // when acts with web.Act.Within were recorded
}

// repeatable identifies the repetitions of an act.
type repeatable struct {
	kind  string
	actor eventlog.Actor
}

// Record implements web.RecordAct.
func (a *Acts) Record(call *web.Call, act web.Act, subject string) error {
	origin := writeapi.Origin(call.Caller)
	of := repeatable{act.Kind, origin.Actor}
	if a.known(of, act.Within) {
		return nil
	}
	ctx, cancel := context.Context(call), context.CancelFunc(func() {})
	if act.Anyway {
		ctx, cancel = context.WithTimeout(call, actTimeout)
	}
	defer cancel()
	_, err := a.Audit.RecordAct(ctx, act.Kind, subject, origin)
	switch {
	case err == nil:
		a.remember(of, act.Within)
	case act.Anyway:
		a.Log.Warn("an operator's act could not be recorded in the log, and is executed nevertheless",
			"act", act.Kind, "operator", of.actor.Name, "role", of.actor.Role, "address", of.actor.Address,
			"request_id", call.RequestID, "error", err)
		return nil
	}
	return err
}

func (a *Acts) known(of repeatable, within time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, found := a.recent[of]
	return found && a.Now().Sub(at) < within
}

// remember also drops acts that are too old to matter.
func (a *Acts) remember(of repeatable, within time.Duration) {
	if within == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.Now()
	maps.DeleteFunc(a.recent, func(_ repeatable, at time.Time) bool { return now.Sub(at) >= within })
	if a.recent == nil {
		a.recent = map[repeatable]time.Time{}
	}
	a.recent[of] = now
}

// maxHeads is the maximum number of heads in a reply.
const maxHeads = 500

type headsRequest struct {
	From int `query:"from" default:"0" ge:"0" doc:"revision of the first head in the stream of heads"`
}

func (a *API) heads(call *web.Call, in headsRequest) (web.Reply, error) {
	reply := adminapi.HeadsReply{Log: a.Heads.Log, Heads: []adminapi.HeadReply{}}
	for head, err := range a.Heads.From(call, uint64(in.From)) {
		if err != nil {
			return web.Reply{}, err
		}
		if len(reply.Heads) == maxHeads {
			reply.Next = &head.Revision
			break
		}
		reply.Heads = append(reply.Heads, adminapi.HeadReply{
			Revision: head.Revision, Position: head.Position.String(), Head: head.Head,
		})
	}
	return web.JSON(reply), nil
}

func (a *API) key(*web.Call, struct{}) (web.Reply, error) {
	return web.JSON(adminapi.KeyReply{Log: a.Heads.Log, Key: a.Heads.PublicKey()}), nil
}
