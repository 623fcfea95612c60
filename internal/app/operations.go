package app

import (
	"context"
	"runtime/debug"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/internal/http/web"
	writeapi "github.com/recital-tts/recital/writeapi/operations"
)

// operationsSlice returns the slice that shows the state of the service: checks for balancers, read models and figures
// for operators.
func operationsSlice() slice {
	return slice{
		name: "operations",
		open: func(p *parts) (service, error) {
			checks := writeapi.API{Missing: p.health.Missing, Service: p.drain}
			readModels := writeapi.Projections{Generations: p.projector}
			log := &writeapi.Log{Log: p.journal.Log, Identity: p.identity}
			doctor := writeapi.Doctor{Examine: p.examine}
			return service{
				public:     checks.Routes(),
				admin:      slices.Concat(readModels.AdminRoutes(), log.AdminRoutes(), doctor.AdminRoutes(), []web.Route{p.metrics.route()}),
				jobs:       append(p.blobJobs, job{name: "the look at the blob store", every: time.Minute, run: p.blobStore.lookAtBlobs}),
				collectors: slices.Concat(workerGauges(p), p.blobStore.collectors(), []prometheus.Collector{readyGauge(p.health.Missing)}),
			}, nil
		},
	}
}

// readyGauge shows what the readiness check answers.
func readyGauge(missing func() []string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "recital_ready", Help: "1 while this instance can serve requests, 0 while it lacks something for them.",
	}, func() float64 {
		if len(missing()) > 0 {
			return 0
		}
		return 1
	})
}

// examinationTimeout bounds what the doctor waits for.
const examinationTimeout = 5 * time.Second

// examine looks at everything at once.
func (p *parts) examine(ctx context.Context) writeapi.Examination {
	ctx, cancel := context.WithTimeout(ctx, examinationTimeout)
	defer cancel()
	found := writeapi.Examination{Instance: p.instance(), Version: version(), At: time.Now().UTC(), Findings: p.health.Examine(ctx)}
	for _, s := range p.cfg.Settings() {
		found.Settings = append(found.Settings, writeapi.Setting(s))
	}
	return found
}

// version returns the commit of which the binary was built, "" if it is not known.
func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}
