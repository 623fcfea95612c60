package operations

import (
	"context"
	"time"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/process/health"
)

// Setting is a setting as it is in effect.
type Setting struct {
	Flag     string `json:"flag"`
	Variable string `json:"variable"`
	Value    string `json:"value"`
	From     string `json:"from"` // default, environment or flag
}

// Examination is what an instance finds out about itself and what it rests on.
type Examination struct {
	Instance string          `json:"instance"`
	Version  string          `json:"version"` // release and commit
	At       time.Time       `json:"at"`
	Findings []health.Result `json:"findings"`
	Settings []Setting       `json:"settings"` // secrets are hidden
}

// Doctor examines the installation of an instance.
type Doctor struct {
	Examine func(context.Context) Examination
}

// AdminRoutes returns the rows for the admin route table.
func (d *Doctor) AdminRoutes() []web.Route {
	return []web.Route{
		web.Get("/admin/doctor", d.examine, web.Role("operator", "auditor"), web.WhileDraining(), web.Tag("Operators"),
			web.Summary("Examine the installation"),
			web.Description("Each part is tried: the event store and Postgres are read, a blob is written, read and deleted. "+
				"What does not answer within seconds is a fault."),
			web.Returns[Examination]()),
	}
}

func (d *Doctor) examine(call *web.Call, _ struct{}) (web.Reply, error) {
	return web.JSON(d.Examine(call)).WithHeader("Cache-Control", "no-store"), nil
}
