package operations

import (
	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/http/web"
)

type parkedRequest struct {
	After position `query:"after" default:"0/0" pattern:"^[0-9]{1,20}/[0-9]{1,20}$" doc:"next of the previous page"`
	Limit int      `query:"limit" default:"100" ge:"1" le:"500" doc:"a page ends between two positions, so it may have more if several generations parked one event"`
}

func (p *Projections) parked(call *web.Call, in parkedRequest) (web.Reply, error) {
	page, err := p.Generations.Parked(call, in.After.Position, in.Limit)
	if err != nil {
		return web.Reply{}, feed.Answered(err)
	}
	return web.JSON(parkedOf(page, len(page) >= in.Limit)), nil
}

type parkedEventRequest struct {
	generationRequest
	EventID uuid.UUID `body:"event_id" required:"true" pattern:"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"`
}

// Subject names the event and the generation.
func (r parkedEventRequest) Subject() string {
	return r.EventID.String() + " in " + r.generationRequest.Subject()
}

// retried is the reply to a retry: the generation handles the event afterwards.
type retried struct {
	Applied int `json:"applied"` // always 0
}

func (p *Projections) retryParked(call *web.Call, in parkedEventRequest) (web.Reply, error) {
	if err := p.Generations.RetryParked(call, in.id(), in.EventID); err != nil {
		return web.Reply{}, feed.Answered(err)
	}
	return web.JSON(retried{}), nil
}
