package app

import writeapi "github.com/recital-tts/recital/writeapi/operations"

// operationsSlice returns the slice that shows the state of the service: checks for balancers, read models and figures for operators.
func operationsSlice() slice {
	return slice{
		name: "operations",
		open: func(p *parts) (service, error) {
			checks := writeapi.API{Missing: p.missing, Service: p.drain}
			readModels := writeapi.Projections{Generations: p.projector}
			return service{
				public:     checks.Routes(),
				admin:      append(readModels.AdminRoutes(), p.metrics.route()),
				collectors: workerGauges(p),
			}, nil
		},
	}
}
