// Package writeapi serves every route that is not a pure query. Its subpackages are slices: each binds and validates
// requests and calls one method of the slice's commands.
package writeapi

import (
	"context"
	"time"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
)

// visibleTimeout is the time for which a write waits for the read models of its route.
const visibleTimeout = 2 * time.Second

// ReadModels waits until the live read models have reached a position of the log.
type ReadModels interface {
	Wait(ctx context.Context, position eventlog.Position, models ...readmodel.Model) error
}

// AwaitVisible sends the client the position of its write, and waits until the read models of the route show it. If
// they do not in time, the reply is sent nevertheless, marked as stale.
func AwaitVisible(call *web.Call, models ReadModels, position eventlog.Position) {
	call.SetPosition(position.String())
	wait, cancel := context.WithTimeout(call, visibleTimeout)
	defer cancel()
	if models.Wait(wait, position, call.Route.ReadModels...) != nil {
		call.SetStale()
	}
}

// Done replies to a command with success, once the read models of the route show its position, or with its error.
func Done(call *web.Call, models ReadModels, position eventlog.Position, err error) (web.Reply, error) {
	if err != nil {
		return web.Reply{}, err
	}
	AwaitVisible(call, models, position)
	return web.JSON(SuccessResponse{Success: true}), nil
}

// Origin returns the origin of a caller's command: an operator's on routes with Role, otherwise the account's, from the
// client's address. Its correlation is the client's request-id.
func Origin(c web.Caller) journal.Origin {
	actor := eventlog.Actor{Kind: eventlog.ActorAccount, Account: c.Principal.Account, Key: c.Principal.Key,
		Session: c.Principal.Session}
	if c.Role != "" {
		return journal.Origin{Actor: operator(c), Correlation: c.RequestID}
	}
	return journal.Origin{Actor: actor, Correlation: c.RequestID, Client: c.Client}
}

func operator(c web.Caller) eventlog.Actor {
	actor := eventlog.Actor{Kind: eventlog.ActorOperator, Name: c.Operator, Role: c.Role, Reason: c.Reason}
	if c.Client.IsValid() {
		actor.Address = c.Client.String()
	}
	return actor
}

// SuccessResponse is the reply of routes without other data.
type SuccessResponse struct {
	Success bool `json:"success" doc:"Always true."`
}
