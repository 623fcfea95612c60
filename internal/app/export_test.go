package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/domain/alert"
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

// Payments returns the gateway to the payment provider.
func (a *App) Payments() payments.Gateway { return a.payments }

// Notices returns what verifies the payment provider's notices.
func (a *App) Notices() payments.Notice { return a.notices.payments }

// SandboxURL returns the address of the payment provider for development, "" where another is used.
func (a *App) SandboxURL() string { return a.standIns.sandboxURL() }

// Sandbox returns what the payment provider for development is doing.
func (a *App) Sandbox(ctx context.Context) (standins.Status, error) { return a.standIns.status(ctx) }

// OrderSandbox has the payment provider for development do something.
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

// DiskUse returns how full a folder's disk is, in per cent.
func DiskUse(folder string) (float64, error) {
	use, err := diskUseOf(folder)
	return use.percent(), err
}

// Checks returns everything that is looked at.
func (a *App) Checks() []health.Check { return append(a.partChecks(), a.service.checks...) }

// DiskCheck looks how full a disk is: limits are in per cent, and in bytes that are left free.
func DiskCheck(folder string, percent, floor float64) health.Check {
	return diskChecks("host", []string{folder}, diskLimit{percent, floor})[0]
}

// CrashCheck looks whether workers die.
func CrashCheck(c alert.Condition, within time.Duration, stats func() (alive int, deaths uint64)) health.Check {
	return crashCheck(c, health.Fault, within, func() workerPool {
		alive, deaths := stats()
		return workerPool{alive, 1, deaths}
	})
}

// FailureCheck looks whether too much fails of all.
func FailureCheck(c alert.Condition, limit float64, count func() health.Tally) health.Check {
	return failureCheck(c, limit, count)
}

// NoticesCheck returns notices that are counted, and the look at what was refused of them.
func NoticesCheck(c alert.Condition, n payments.Notice) (payments.Notice, health.Check) {
	var counter noticeCounter
	return countedNotices{n, &counter}, noticesCheck(c, counter.count)
}

// CertificateChecks look when certificates end.
func CertificateChecks(limit time.Duration, all ...certificates.Certificate) []health.Check {
	return certificateChecks(all, limit)
}

// StoreCertificates returns the certificates of an event store.
func StoreCertificates(connection string) []certificates.Certificate {
	return Config{EventStore: connection}.storeCertificates()
}

// WatchBlobs returns the look at a store, and since when it is silent.
func WatchBlobs(store blobs.Store) (look func(context.Context) error, silent func() (time.Time, bool)) {
	w := watchBlobs(store, slog.New(slog.DiscardHandler))
	return w.lookAtBlobs, w.isSilent
}

// ReservationsCheck looks for reservations past their expiry.
func ReservationsCheck(list *pglist.View, longest time.Duration) health.Check {
	return reservationsCheck(list, longest)
}

// IsOver reports whether an alert is seen to be over.
func (a *App) IsOver(ctx context.Context, o alert.Open) (bool, error) { return a.isOver(ctx, o) }
