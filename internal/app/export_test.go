package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/todo/pglist"
	"github.com/recital-tts/recital/internal/http/rates"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/process/certificates"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/standins"
)

// PublicRoutes returns the rows of all slices for the public address.
func (a *App) PublicRoutes() []web.Route { return a.service.public }

// AdminRoutes returns the rows of all slices for the admin address.
func (a *App) AdminRoutes() []web.Route { return a.service.admin }

// Rates returns the rates that the configuration sets.
func (c Config) Rates() (rates.Limits, error) { return c.rates() }

// GenerationsFinding returns the finding of the check of the read models for the given generations.
func GenerationsFinding(generations []feed.Generation, limit time.Duration) health.Finding {
	return ofGenerations(generations, ReadModels(), limit)
}

// Payments returns the gateway to the payment provider.
func (a *App) Payments() payments.Gateway { return a.payments }

// Notices returns the verifier of the payment provider's notices.
func (a *App) Notices() payments.Notice { return a.notices.payments }

// SandboxURL returns the address of the payment sandbox, "" if another provider is used.
func (a *App) SandboxURL() string { return a.standIns.sandboxURL() }

// Sandbox returns the state of the payment sandbox.
func (a *App) Sandbox(ctx context.Context) (standins.Status, error) { return a.standIns.status(ctx) }

// OrderSandbox sends an order to the payment sandbox.
func (a *App) OrderSandbox(ctx context.Context, name, body string) error {
	_, err := a.standIns.order(ctx, name, []byte(body))
	return err
}

// Accounts returns the commands on accounts.
func (a *App) Accounts() *accounts.Accounts { return a.accounts }

// Sessions returns the commands on sessions.
func (a *App) Sessions() *sessions.Sessions { return a.sessions }

// Reach returns an error unless a server answers.
func Reach(ctx context.Context, url string) error { return reach(ctx, url) }

// DiskUse returns the use of a folder's disk in per cent.
func DiskUse(folder string) (float64, error) {
	use, err := diskUseOf(folder)
	return use.percent(), err
}

// Checks returns all checks.
func (a *App) Checks() []health.Check { return append(a.partChecks(), a.service.checks...) }

// DiskCheck returns the check of a disk. Limits are in per cent, and in free bytes.
func DiskCheck(folder string, percent, floor float64) health.Check {
	return diskChecks("host", []string{folder}, diskLimit{percent, floor})[0]
}

// CrashCheck returns the check for dying workers.
func CrashCheck(c alert.Condition, within time.Duration, stats func() (alive int, deaths uint64)) health.Check {
	return crashCheck(c, health.Fault, within, func() workerPool {
		alive, deaths := stats()
		return workerPool{alive, 1, deaths}
	})
}

// FailureCheck returns the check of a share of failures.
func FailureCheck(c alert.Condition, limit float64, count func() health.Tally) health.Check {
	return failureCheck(c, limit, count)
}

// NoticesCheck returns a verifier that counts notices, the function that counts events without one, and the check for
// refused ones.
func NoticesCheck(c alert.Condition, n payments.Notice) (payments.Notice, func(time.Time), health.Check) {
	counter := &noticeCounter{since: time.Now()}
	return countedNotices{n, counter}, counter.miss, noticesCheck(c, time.Hour, counter)
}

// CertificateChecks returns the checks for expiring certificates.
func CertificateChecks(limit time.Duration, all ...certificates.Certificate) []health.Check {
	return certificateChecks(all, limit)
}

// StoreCertificates returns the certificates of an event store.
func StoreCertificates(connection string) []certificates.Certificate {
	return Config{EventStore: connection}.storeCertificates()
}

// WatchBlobs returns a probe of a store, and a function that returns since when the store is silent.
func WatchBlobs(store blobs.Store) (look func(context.Context) error, silent func() (time.Time, bool)) {
	w := newMetrics(nil).watchBlobs(store, slog.New(slog.DiscardHandler))
	return w.lookAtBlobs, w.isSilent
}

// ReservationsCheck returns the check for reservations past their expiry.
func ReservationsCheck(list *pglist.View, longest time.Duration) health.Check {
	return reservationsCheck(list, longest)
}

// IsOver reports whether an alert is demonstrably over.
func (a *App) IsOver(ctx context.Context, o alert.Open) (bool, error) { return a.isOver(ctx, o) }
