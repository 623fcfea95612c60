// Package writeapi serves every route that is not a pure query. Its subpackages are slices: each binds and validates
// requests and calls one method of the slice's commands.
package writeapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/quota"
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

// Visible replies to a command once the read models of the route show its position, or with its error.
func Visible[T any](
	call *web.Call, models ReadModels, response T, position eventlog.Position, err error,
) (web.Reply, error) {
	if err != nil {
		return web.Reply{}, err
	}
	AwaitVisible(call, models, position)
	return web.JSON(response), nil
}

// Done is Visible with a success.
func Done(call *web.Call, models ReadModels, position eventlog.Position, err error) (web.Reply, error) {
	return Visible(call, models, SuccessResponse{Success: true}, position, err)
}

// Recorded replies to a command that no read model shows: with its position in the log, or with its error.
func Recorded[T any](call *web.Call, response T, position eventlog.Position, err error) (web.Reply, error) {
	if err != nil {
		return web.Reply{}, err
	}
	call.SetPosition(position.String())
	return web.JSON(response), nil
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

// again is the pause before another attempt may find room.
const again = 5 * time.Second

// TakePlace takes a place for work on a recording, which is limited by address. The caller releases the place.
// doing describes the work: "aligned".
func TakePlace(call *web.Call, places *quota.Budget, doing string) (*quota.Claim, error) {
	place, err := places.Take(quota.Client(call.Client), 1)
	switch {
	case errors.Is(err, quota.ErrShare):
		return nil, web.TooManyRequests("Another recording of this address is being "+doing, again)
	case err != nil:
		return nil, &web.Error{
			Status: http.StatusServiceUnavailable, Message: "Too many recordings are being " + doing, RetryAfter: again,
		}
	}
	return place, nil
}

// ValueOr returns the value of an optional input, or another one if it is absent.
func ValueOr[T any](value *T, absent T) T {
	if value == nil {
		return absent
	}
	return *value
}

// OrNull returns nil for the zero value, for a field that is null then.
func OrNull[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
