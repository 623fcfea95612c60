package app

import writeapi "github.com/recital-tts/recital/writeapi/operations"

// operationsSlice is that of what tells how the service is: checks for balancers, read models and figures for operators.
func operationsSlice() slice {
	return slice{
		name: "operations",
		open: func(p *parts) (service, error) {
			checks := writeapi.API{Ready: p.ready}
			readModels := writeapi.Projections{Generations: p.projector}
			return service{
				public:     checks.Routes(),
				admin:      append(readModels.AdminRoutes(), p.metrics.route()),
				collectors: workerGauges(p),
			}, nil
		},
	}
}
