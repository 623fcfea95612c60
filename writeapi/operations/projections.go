package operations

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
)

// Generations manages the generations of the read models and their parked events. *feed.Projector implements it.
type Generations interface {
	Overview(ctx context.Context) (feed.Overview, error)
	Rebuild(ctx context.Context, names []string, promote bool) ([]feed.GenerationID, error)
	Promote(ctx context.Context, ids []feed.GenerationID) ([]feed.GenerationID, error)
	Rollback(ctx context.Context, id feed.GenerationID) (feed.GenerationID, error)
	Retire(ctx context.Context, id feed.GenerationID) error

	// Parked returns at most limit events, and further ones at the same position as the last one.
	Parked(ctx context.Context, after eventlog.Position, limit int) ([]feed.Parked, error)
	RetryParked(ctx context.Context, id feed.GenerationID, event uuid.UUID) error
}

// Projections serves the operators' routes on read models.
type Projections struct {
	Generations Generations
	// Instances returns the names of all running instances, including those without a feed.
	Instances func(ctx context.Context) ([]string, error)
}

// AdminRoutes returns the rows for the admin route table.
func (p *Projections) AdminRoutes() []web.Route {
	tag, read, change := web.Tag("Projections"), web.Role("operator", "auditor"), web.Role("operator")
	acts := func(kind string) web.Option { return web.Acts(web.Act{Kind: kind}) }
	generations, refuses := web.Returns[adminapi.GenerationsReply](), web.Refuses(400, 404, 409)
	return []web.Route{
		web.Get("/admin/projections", p.list, read, tag, web.Summary("The generations of all read models"),
			web.Returns[adminapi.OverviewReply]()),
		web.Post("/admin/projections/rebuild", p.rebuild, change, tag, acts(audit.ActRebuild),
			web.Summary("Build new generations beside the live ones, or resume those being built"), generations, refuses),
		web.Post("/admin/projections/promote", p.promote, change, tag, acts(audit.ActPromote),
			web.Summary("Make generations live, all in one step"),
			web.RawBody("application/json"), generations, refuses),
		web.Post("/admin/projections/rollback", p.rollback, change, tag, acts(audit.ActRollback),
			web.Summary("Make the previous live generation live again"),
			generations, refuses),
		web.Post("/admin/projections/retire", p.retire, change, tag, acts(audit.ActRetire),
			web.Summary("Drop a generation, even one that is being built"),
			web.Returns[success](), refuses),
		web.Get("/admin/projections/parked", p.parked, read, tag, web.Summary("Events that a generation could not handle"),
			web.Returns[adminapi.ParkedReply]()),
		web.Post("/admin/projections/parked/retry", p.retryParked, change, tag, acts(audit.ActRetry),
			web.Summary("Retry a parked event, and those waiting behind it in its stream"), web.Returns[retried](), refuses),
	}
}

func (p *Projections) list(call *web.Call, _ struct{}) (web.Reply, error) {
	overview, err := p.Generations.Overview(call)
	if err != nil {
		return web.Reply{}, feed.Answered(err)
	}
	instances, err := p.Instances(call)
	if err != nil {
		return web.Reply{}, feed.Answered(err)
	}
	return web.JSON(overviewOf(overview, instances)), nil
}

type rebuildRequest struct {
	Projections []string `body:"projections" doc:"names of read models of this binary"`
	All         bool     `body:"all" default:"false" doc:"all read models of this binary, instead of names"`
	Promote     bool     `body:"promote" default:"false" doc:"make the generations live as soon as all of them have caught up"`
}

// Subject names the read models.
func (r rebuildRequest) Subject() string {
	if r.All {
		return "all"
	}
	return strings.Join(r.Projections, ", ")
}

func (p *Projections) rebuild(call *web.Call, in rebuildRequest) (web.Reply, error) {
	if in.All == (len(in.Projections) > 0) {
		return web.Reply{}, call.Invalid("projections", "either name read models or set all")
	}
	slices.Sort(in.Projections)
	ids, err := p.Generations.Rebuild(call, slices.Compact(in.Projections), in.Promote)
	if err != nil {
		return web.Reply{}, feed.Answered(err)
	}
	return web.JSON(generationsOf(ids)), nil
}

// generationRequest names a generation. The operation chooses omitted parts.
type generationRequest struct {
	Name       string `body:"name" required:"true" minlen:"1" maxlen:"63"`
	Version    int    `body:"version" default:"0" ge:"0" le:"2147483647" doc:"0 is the version of this binary"`
	Generation int    `body:"generation" default:"0" ge:"0" le:"2147483647" doc:"0 is the operation's default"`
}

// Subject names the generation.
func (r generationRequest) Subject() string {
	subject := r.Name
	if r.Version > 0 {
		subject += " version " + strconv.Itoa(r.Version)
	}
	if r.Generation > 0 {
		subject += " generation " + strconv.Itoa(r.Generation)
	}
	return subject
}

func (r generationRequest) id() feed.GenerationID {
	return feed.GenerationID{Name: r.Name, Version: r.Version, Number: r.Generation}
}

type rollbackRequest struct {
	Name    string `body:"name" required:"true" minlen:"1" maxlen:"63"`
	Version int    `body:"version" default:"0" ge:"0" le:"2147483647" doc:"0 is the version of this binary"`
}

// Subject names the read model.
func (r rollbackRequest) Subject() string {
	return generationRequest{Name: r.Name, Version: r.Version}.Subject()
}

func (p *Projections) rollback(call *web.Call, in rollbackRequest) (web.Reply, error) {
	live, err := p.Generations.Rollback(call, feed.GenerationID{Name: in.Name, Version: in.Version})
	if err != nil {
		return web.Reply{}, feed.Answered(err)
	}
	return web.JSON(generationsOf([]feed.GenerationID{live})), nil
}

type retireRequest struct {
	Name       string `body:"name" required:"true" minlen:"1" maxlen:"63"`
	Version    int    `body:"version" default:"0" ge:"0" le:"2147483647" doc:"0 is the version of this binary"`
	Generation int    `body:"generation" required:"true" ge:"1" le:"2147483647"`
}

// Subject names the generation.
func (r retireRequest) Subject() string { return generationRequest(r).Subject() }

func (p *Projections) retire(call *web.Call, in retireRequest) (web.Reply, error) {
	err := p.Generations.Retire(call, feed.GenerationID{Name: in.Name, Version: in.Version, Number: in.Generation})
	if err != nil {
		return web.Reply{}, feed.Answered(err)
	}
	return web.JSON(success{true}), nil
}

type success struct {
	Success bool `json:"success"`
}
