package operations

import (
	"context"

	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
)

// DoctorRoute returns the row for the admin route table that examines the installation of an instance.
func DoctorRoute(examine func(context.Context) adminapi.Examination) web.Route {
	serve := func(call *web.Call, _ struct{}) (web.Reply, error) {
		return web.JSON(examine(call)).WithHeader("Cache-Control", "no-store"), nil
	}
	return web.Get("/admin/doctor", serve, web.Role("operator", "auditor"), web.WhileDraining(), web.Tag("Operators"),
		web.Summary("Examine the installation"),
		web.Description("Each part is tested: the event store and Postgres are read, a blob is written, read and deleted. "+
			"A part that does not respond within seconds is a fault."),
		web.Returns[adminapi.Examination]())
}
