package operations

import (
	"context"

	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
)

// Doctor examines the installation of an instance.
type Doctor struct {
	Examine func(context.Context) adminapi.Examination
}

// AdminRoutes returns the rows for the admin route table.
func (d *Doctor) AdminRoutes() []web.Route {
	return []web.Route{
		web.Get("/admin/doctor", d.examine, web.Role("operator", "auditor"), web.WhileDraining(), web.Tag("Operators"),
			web.Summary("Examine the installation"),
			web.Description("Each part is tested: the event store and Postgres are read, a blob is written, read and deleted. "+
				"A part that does not respond within seconds is a fault."),
			web.Returns[adminapi.Examination]()),
	}
}

func (d *Doctor) examine(call *web.Call, _ struct{}) (web.Reply, error) {
	return web.JSON(d.Examine(call)).WithHeader("Cache-Control", "no-store"), nil
}
