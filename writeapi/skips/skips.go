// Package skips serves the routes on skipped events.
package skips

import (
	"context"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/skips"
	"github.com/recital-tts/recital/domain/skip"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

// Skips manages the skipped events. *skips.Skips implements it.
type Skips interface {
	List() []skip.Skip
	Skip(ctx context.Context, at skips.Place, by skips.By) (skip.Skip, error)
	Unskip(ctx context.Context, event uuid.UUID, by skips.By) (skip.Skip, eventlog.Position, error)
	Confirm(ctx context.Context, event uuid.UUID, by skips.By) (skip.Skip, error)
}

// Generations manages the generations of the read models. *feed.Projector implements it.
type Generations interface {
	FindParked(ctx context.Context, event uuid.UUID) (feed.Parked, error)
	Skipped(ctx context.Context, event uuid.UUID) error
	Past(ctx context.Context, stream string, at eventlog.Position) ([]feed.GenerationID, error)
}

// API serves the routes.
type API struct {
	Skips       Skips
	Generations Generations
}

// AdminRoutes returns the rows for the admin route table.
func (a *API) AdminRoutes() []web.Route {
	tag, change, refuses := web.Tag("Projections"), web.Role("operator"), web.Refuses(400, 404, 409)
	acts := web.Acts(web.Act{Own: true, Reasoned: true})
	return []web.Route{
		web.Get("/admin/skips", a.list, web.Role("operator", "auditor"), tag, web.Summary("The skipped events"),
			web.Returns[adminapi.ListReply]()),
		web.Post("/admin/skips", a.skip, change, acts, tag, web.Summary("Skip an event for all read models and all commands"),
			web.Description("Without a stream it is an event that a read model has stopped at. While an event in the "+
				"stream of an account or a session is skipped, "+
				"its credentials are refused until the skip is confirmed: the event may have revoked one."),
			web.Returns[adminapi.SkipReply](), refuses),
		web.Post("/admin/skips/{event_id}/confirm", a.confirm, change, acts, tag,
			web.Summary("Confirm that a skipped event revokes no credential"),
			web.Returns[adminapi.SkipReply](), refuses),
		web.Delete("/admin/skips/{event_id}", a.unskip, change, acts, tag, web.Summary("Let a skipped event count again"),
			web.Returns[adminapi.UnskipReply](), refuses),
	}
}

func replyOf(s skip.Skip) adminapi.SkipReply {
	return adminapi.SkipReply{
		EventID: s.Event, Stream: s.Stream, Revision: s.Revision, Type: s.Type, By: s.By, Role: s.Role,
		Reason: s.Why, SkippedAt: s.At.Unix(), Unconfirmed: s.Unconfirmed(),
	}
}

func (a *API) list(*web.Call, struct{}) (web.Reply, error) {
	reply := adminapi.ListReply{Skips: []adminapi.SkipReply{}}
	for _, s := range a.Skips.List() {
		reply.Skips = append(reply.Skips, replyOf(s))
	}
	return web.JSON(reply), nil
}

func by(call *web.Call) skips.By {
	return skips.By{Origin: writeapi.Origin(call.Caller), Role: call.Role, Why: call.Reason}
}

type skipRequest struct {
	EventID  uuid.UUID `body:"event_id" required:"true" pattern:"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"`
	Stream   string    `body:"stream" default:"" maxlen:"200" doc:"the event's stream, if no read model has stopped at the event"`
	Revision int       `body:"revision" default:"0" ge:"0" doc:"the event's revision in the given stream"`
}

func (a *API) skip(call *web.Call, in skipRequest) (web.Reply, error) {
	event := in.EventID
	at := skips.Place{Event: event, Stream: in.Stream, Revision: uint64(in.Revision)}
	if in.Stream == "" {
		parked, err := a.Generations.FindParked(call, event)
		if err != nil {
			return web.Reply{}, feed.Answered(err)
		}
		at = skips.Place{Event: event, Stream: parked.Stream, Revision: parked.Revision, Stops: true}
	}
	skipped, err := a.Skips.Skip(call, at, by(call))
	if err != nil {
		return web.Reply{}, err
	}
	return web.JSON(replyOf(skipped)), feed.Answered(a.Generations.Skipped(call, event))
}

type eventRequest struct {
	EventID string `path:"event_id" maxlen:"36"`
}

// event returns the id. An invalid id is not skipped.
func (r eventRequest) event() (uuid.UUID, error) {
	id, err := uuid.Parse(r.EventID)
	if err != nil {
		err = skip.ErrNotSkipped
	}
	return id, err
}

func (a *API) confirm(call *web.Call, in eventRequest) (web.Reply, error) {
	event, err := in.event()
	if err != nil {
		return web.Reply{}, err
	}
	confirmed, err := a.Skips.Confirm(call, event, by(call))
	return web.JSON(replyOf(confirmed)), err
}

func (a *API) unskip(call *web.Call, in eventRequest) (web.Reply, error) {
	event, err := in.event()
	if err != nil {
		return web.Reply{}, err
	}
	was, position, err := a.Skips.Unskip(call, event, by(call))
	if err != nil {
		return web.Reply{}, err
	}
	past, err := a.Generations.Past(call, was.Stream, position)
	if err != nil {
		return web.Reply{}, feed.Answered(err)
	}
	reply := adminapi.UnskipReply{EventID: was.Event, Rebuild: []string{}}
	for _, id := range past {
		if len(reply.Rebuild) == 0 || reply.Rebuild[len(reply.Rebuild)-1] != id.Name { // they are sorted by name
			reply.Rebuild = append(reply.Rebuild, id.Name)
		}
	}
	return web.JSON(reply), nil
}
