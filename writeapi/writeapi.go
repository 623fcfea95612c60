// Package writeapi serves every route that is not a pure query. Its subpackages are areas of the interface: each binds
// and validates requests and calls one method of package commands.
package writeapi

import (
	"context"
	"time"

	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/web"
)

// visibleTimeout is how long a write waits for the read models that its route names.
const visibleTimeout = 2 * time.Second

// AwaitVisible tells the client the position of its write, and waits until the read models of the route show it. A
// write that is not visible in time is answered all the same, marked as stale.
func AwaitVisible(call *web.Call, models commands.ReadModels, position eventlog.Position) {
	call.SetPosition(position.String())
	wait, cancel := context.WithTimeout(call, visibleTimeout)
	defer cancel()
	if models.Wait(wait, position, call.Route.ReadModels...) != nil {
		call.SetStale()
	}
}

// ActorOf is who asks, for the log.
func ActorOf(p web.Principal) eventlog.Actor {
	return eventlog.Actor{Kind: eventlog.ActorAccount, Account: p.Account, Key: p.Key, Session: p.Session}
}
