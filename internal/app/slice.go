package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/process/health"
)

// slice is an area of the service, all of it in one value. What it declares needs nothing to run; what it opens has its
// commands and readers.
type slice struct {
	name       string
	events     []eventlog.Type
	readModels []feed.Projection
	open       func(*parts) (service, error)
}

// service is a slice that is open. Its start, its end and its figures follow from what is listed here; so do the
// headers that scripts in browsers may read, from what the routes declare.
type service struct {
	public []web.Route
	admin  []web.Route
	toDos  []toDo
	slow   []toDo // those whose items take minutes, so that instances which do not lead take over later
	jobs   []job
	// checks look at what an operator should know.
	checks []health.Check
	// collectors are the slice's metrics.
	collectors []prometheus.Collector
	close      func() error // ends what open has started; nil where that is nothing
	// ends and erases are what the slice ends, and then erases, for an account that closes. awaits are what a to-do of
	// the slice's own erases: each returns a *todo.NotYetError until it has.
	ends, erases, awaits []closing
}

// closing is carried out when an account closes. It may be called again for an account that it has dealt with.
type closing func(ctx context.Context, account string) error

// toDo is a process with the view that lists what is due.
type toDo struct {
	process string
	view    readmodel.ToDo
	do      func(ctx context.Context, item todo.Item) (eventlog.Position, error)
}

// job runs at the start and then every so often. What fails is logged, and tried again at the next time.
type job struct {
	name    string
	every   time.Duration
	current bool // waits for read models that have caught up
	run     func(ctx context.Context) error
}

// allSlices is the only list of slices. They are opened in this order: a slice may use the commands of one before it.
func allSlices() []slice {
	return []slice{
		accountsSlice(),
		sessionsSlice(),
		alertsSlice(),
		keyringSlice(),
		backupSlice(),
		ledgerSlice(),
		paymentsSlice(),
		billingSlice(),
		signinSlice(),
		clipsSlice(),
		voicesSlice(),
		synthesisSlice(),
		alignmentSlice(),
		feedbackSlice(),
		hostingSlice(),
		auditSlice(),
		skipsSlice(),
		operationsSlice(),
	}
}

// Registry returns the registry of every event type of every slice.
func Registry() (*eventlog.Registry, error) {
	types := []eventlog.Type{eventlog.LogOpenedType()}
	for _, s := range allSlices() {
		types = append(types, s.events...)
	}
	return eventlog.NewRegistry(types...)
}

// ReadModels returns the projections of every slice.
func ReadModels() []feed.Projection {
	var all []feed.Projection
	for _, s := range allSlices() {
		all = append(all, s.readModels...)
	}
	return all
}

// openSlices opens every slice and returns what they come to together.
func openSlices(p *parts) (service, error) {
	var all service
	for _, s := range allSlices() {
		if s.open == nil {
			continue
		}
		one, err := s.open(p)
		if err != nil {
			return service{}, fmt.Errorf("opening %s: %w", s.name, err)
		}
		if one.close != nil {
			p.onClose(s.name, one.close)
		}
		all.public = append(all.public, one.public...)
		all.admin = append(all.admin, one.admin...)
		all.toDos = append(all.toDos, one.toDos...)
		all.slow = append(all.slow, one.slow...)
		all.jobs = append(all.jobs, one.jobs...)
		all.checks = append(all.checks, one.checks...)
		all.collectors = append(all.collectors, one.collectors...)
		all.ends = append(all.ends, one.ends...)
		all.erases = append(all.erases, one.erases...)
		all.awaits = append(all.awaits, one.awaits...)
	}
	p.closings, p.awaited = slices.Concat(all.ends, all.erases), all.awaits
	return all, requireReadModels(p.projector, all)
}

// requireReadModels refuses a route or a process that names a read model or a view which no slice has, and two
// processes of one name.
func requireReadModels(projector *feed.Projector, all service) error {
	for _, route := range slices.Concat(all.public, all.admin) {
		if err := errors.Join(projector.RequiresModels(route.ReadModels...), projector.Requires(route.Views...)); err != nil {
			return fmt.Errorf("route %s %s: %w", route.Method, route.Path, err)
		}
	}
	seen := map[string]bool{}
	for _, t := range slices.Concat(all.toDos, all.slow) {
		if err := projector.Requires(t.view.View); err != nil {
			return fmt.Errorf("to-do list %s: %w", t.process, err)
		}
		if seen[t.process] || t.view.Name != "todo_"+t.process {
			return fmt.Errorf("to-do list %s: its view is todo_%[1]s, and no other slice has a process of this name", t.process)
		}
		seen[t.process] = true
	}
	return nil
}
