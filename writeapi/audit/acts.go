package audit

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

// actTimeout bounds how long an act that is carried out anyway waits for the log.
const actTimeout = 2 * time.Second

// Acts records what operators and auditors change or copy by the routes with web.Acts.
type Acts struct {
	Audit *audit.Audit
	Log   *slog.Logger
	Now   func() time.Time

	mu     sync.Mutex
	recent map[repeatable]time.Time // when an act with web.Act.Within was recorded
}

// repeatable is what the repetitions of an act have in common.
type repeatable struct {
	kind  string
	actor eventlog.Actor
}

// Record is a web.RecordAct.
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
		a.Log.Warn("an operator's act could not be recorded in the log, and is carried out all the same",
			"act", act.Kind, "operator", of.actor.Name, "role", of.actor.Role, "address", of.actor.Address, "request_id", call.RequestID, "error", err)
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

// remember forgets what is too old to matter.
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
