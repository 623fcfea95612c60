package app

import (
	"time"

	writeapi "github.com/recital-tts/recital/writeapi/operations"
)

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
				jobs:       append(p.blobJobs, job{name: "the look at the blob store", every: time.Minute, run: p.blobStore.lookAtBlobs}),
				collectors: append(workerGauges(p), p.blobStore.collectors()...),
			}, nil
		},
	}
}
