package app

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/commands/skips"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/process/lifecycle"
	"github.com/recital-tts/recital/internal/process/postgres"
	"github.com/recital-tts/recital/internal/process/release"
	writeapi "github.com/recital-tts/recital/writeapi/operations"
	skipsapi "github.com/recital-tts/recital/writeapi/skips"
)

// operationsSlice returns the slice that shows the state of the service: checks for balancers, read models and metrics
// for operators.
func operationsSlice(core *coreParts, status *statusParts, stores *storeParts) slice {
	return slice{
		name: "operations",
		open: func() (service, error) {
			checks := writeapi.API{Missing: status.health.Missing, Service: status.drain}
			readModels := writeapi.Projections{
				Generations: core.projector,
				Instances:   func(ctx context.Context) ([]string, error) { return postgres.Instances(ctx, stores.pool) },
			}
			log := &writeapi.Log{
				Log: core.journal.Log, Identity: core.identity,
				Types: eventTypes(core.journal.Registry), Streams: core.journal.Registry.Streams(),
			}
			figures := core.metrics.figures
			sessions := writeapi.Sessions{Begin: core.operatorSessions().Begin}
			doctor := writeapi.DoctorRoute(func(ctx context.Context) adminapi.Examination {
				return examine(ctx, core, status.health)
			})
			return service{
				public: checks.Routes(),
				admin: slices.Concat(readModels.AdminRoutes(), log.AdminRoutes(), sessions.AdminRoutes(),
					[]web.Route{doctor, core.metrics.route(), figures.route(), writeapi.ProfileRoute()}),
				jobs: []job{figures.job()},
				collectors: []prometheus.Collector{gaugeFunc("recital_ready",
					"1 while this instance can serve requests, 0 while it lacks something for them.",
					func() float64 { return oneIf(len(status.health.Missing()) == 0) })},
			}, nil
		},
	}
}

// eventTypes returns the names of all types of events, sorted.
func eventTypes(registry *eventlog.Registry) (names []string) {
	for _, one := range registry.Types() {
		names = append(names, one.Name())
	}
	return names
}

// examinationTimeout is the time limit of the doctor's checks.
const examinationTimeout = 5 * time.Second

// examine runs all checks concurrently.
func examine(ctx context.Context, core *coreParts, board *health.Board) adminapi.Examination {
	ctx, cancel := context.WithTimeout(ctx, examinationTimeout)
	defer cancel()
	return adminapi.Examination{
		Instance: core.instance(), Version: release.Build(), At: time.Now().UTC(), Findings: board.Examine(ctx),
		Settings: core.cfg.Settings(),
	}
}

// skipsSlice returns the slice of skipped events. Its commands are opened with the log, because all decoding of events
// needs them.
func skipsSlice(core *coreParts, shared *sharedParts) slice {
	return slice{
		name:   "skips",
		events: skips.Events(),
		open: func() (service, error) {
			write := skipsapi.API{Skips: shared.skips, Generations: core.projector}
			return service{admin: write.AdminRoutes()}, nil
		},
	}
}

// openSkips reads the list of skipped events, before any event is decoded.
func (a *App) openSkips(ctx context.Context) (err error) {
	a.skips, err = skips.Open(ctx, a.journal, a.log, time.Now)
	if err != nil {
		return err
	}
	a.running.Add(lifecycle.Background("the skipped events", a.skips.Follow))
	return nil
}
