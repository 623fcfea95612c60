package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/process/certificates"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/process/lifecycle"
	"github.com/recital-tts/recital/internal/process/postgres"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

const (
	probeEvery   = 500 * time.Millisecond
	probeTimeout = time.Second
	// failingAppends is the time for which appends may fail before the instance is not ready.
	failingAppends = time.Second
)

// readiness holds the results of the probes and of appends. Reading it is free, so balancers may poll it often.
type readiness struct {
	mu       sync.Mutex
	postgres time.Time // when it last answered
	failing  time.Time // since when no append succeeds; zero while appends do

	noRoom atomic.Bool // the embedded node's disk is too full for any append
	behind atomic.Bool // reads fail, or show an earlier state than before
}

func (r *readiness) postgresAnswered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.postgres = time.Now()
}

func (r *readiness) postgresAnswers() bool {
	_, silent := r.postgresIsSilent()
	return !silent
}

// postgresIsSilent returns the start of the time in which Postgres has not answered; zero if it never has.
func (r *readiness) postgresIsSilent() (since time.Time, is bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.postgres, time.Since(r.postgres) >= probeEvery+probeTimeout
}

// appended records the outcome of an append. It ignores conflicts and cancelled appends, which do not predict the next
// one.
func (r *readiness) appended(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.failing = time.Time{}
	case errors.Is(err, eventlog.ErrUnavailable) && !errors.Is(err, context.Canceled) && r.failing.IsZero():
		r.failing = time.Now()
	}
}

// appendsFail returns the time of the first failed append since the last success, and whether it is long enough ago
// to count.
func (r *readiness) appendsFail() (since time.Time, fail bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failing, !r.failing.IsZero() && time.Since(r.failing) > failingAppends
}

// promptReads are read models for callers that do not wait for an unavailable Postgres.
type promptReads struct {
	synthesis.ReadModels
	readiness *readiness
}

// Wait waits like the projector's Wait. While Postgres is unavailable or shows an earlier state than before, it returns
// feed.ErrBehind immediately.
func (r promptReads) Wait(ctx context.Context, position eventlog.Position, models ...readmodel.Model) error {
	if !r.readiness.postgresAnswers() || r.readiness.behind.Load() {
		return feed.ErrBehind
	}
	return r.ReadModels.Wait(ctx, position, models...)
}

// startChecks starts the probes and checks behind readiness, alerts and the doctor.
func (a *App) startChecks(context.Context) error {
	a.metrics.expectAlert(alert.LogSource, alert.NoAppends)
	a.running.Add(
		lifecycle.Job{Name: "the probe of Postgres", Every: probeEvery, Do: a.probePostgres, Logger: a.log}.Part(),
		lifecycle.Job{
			Name: "the look at the blob store", Every: time.Minute, Do: a.blobStore.lookAtBlobs, Logger: a.log,
		}.Part(),
		lifecycle.Job{
			Name: "the probe of the read models", Every: probeEvery, After: a.projector.CaughtUp(), Do: a.probeReads,
			Logger: a.log,
		}.Part(),
		lifecycle.Background("the health checks", a.health.Run),
		lifecycle.Job{
			Name: "the look at open alerts", Every: a.cfg.alertEvery(), After: a.projector.CaughtUp(), Do: a.reviewAlerts,
			Logger: a.log,
		}.Part(),
	)
	return nil
}

func (a *App) probePostgres(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if a.pool.Ping(ctx) == nil {
		a.readiness.postgresAnswered()
	}
	return nil
}

// probeReads checks that the database has the views that reads need. While Postgres is unavailable, the last result
// stays.
func (a *App) probeReads(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	switch err := a.projector.Shows(ctx); {
	case err == nil:
		a.readiness.behind.Store(false)
	case errors.Is(err, feed.ErrBehind), postgres.IsMissing(err):
		a.readiness.behind.Store(true)
	}
	return nil
}

const (
	// clockSkew is the permitted difference of two clocks.
	clockSkew = 2 * time.Second
	// oldestPostgres is the version with which recitald is tested.
	oldestPostgres = 15
)

// partChecks returns the checks of the parts. Each slice has its own checks.
func (a *App) partChecks() []health.Check {
	return slices.Concat(
		[]health.Check{
			{Name: "the settings and their files are sound", Look: a.lookAtSettings},
			{Name: "there are enough file descriptors", Look: a.lookAtFiles},
		},
		diskChecks(a.instance(), a.cfg.alertFolders(), a.cfg.diskLimit()),
		[]health.Check{
			a.storeCheck(), {Name: "the event log can be read", Look: a.lookAtLog}, a.appendsCheck(),
			{Name: "the embedded node's log is without damage", Look: a.lookAtNode},
			{Name: "the keyring is that of the log", Look: a.lookAtKeyring,
				Lacks: lack("the log's keyring", a.foreignKeyring.Load)},
			a.postgresCheck(), {Name: "Postgres keeps what it is given", Look: a.lookAtPostgres},
			a.blobsCheck(), {Name: "blobs can be written, read and deleted", Look: a.lookAtBlobs},
			a.readModelsCheck(),
		},
		a.workerChecks(), certificateChecks(a.certificates(), expiryLimit),
		[]health.Check{{Name: "no alert is open", Look: a.lookAtAlerts,
			Rules: []string{"RecitalAlertOpen", "RecitalAlertRaised"}}},
	)
}

// here returns a condition of this instance.
func (c *coreParts) here(source string, reason alert.Reason) alert.Condition {
	return alert.Condition{Source: source, Subject: c.instance(), Reason: reason}
}

// lack returns a function that returns name while something is missing.
func lack(name string, isMissing func() bool) func() []string {
	return func() []string {
		if isMissing() {
			return []string{name}
		}
		return nil
	}
}

const storeAdvice = "see to the event store: its disk, its process, the network between; its own log says more. " +
	"Reads and what is being spoken go on for a while"

// storeSilence is the time for which the event store may stay silent.
const storeSilence = 2 * time.Second

func (a *App) storeCheck() health.Check {
	check := a.silenceCheck(alert.LogSource, "the event store", storeAdvice, func() (time.Time, bool) {
		silence := a.storeSilence()
		return time.Now().Add(-silence), silence > storeSilence
	}, "event store")
	check.Rules = []string{"RecitalLogSilent"}
	return check
}

// silenceCheck returns the check that a part answers. silent returns the start of its silence. The instance is not
// ready without the parts in needed.
func (a *App) silenceCheck(
	source, part, advice string, silent func() (since time.Time, is bool), needed ...string,
) health.Check {
	condition := a.here(source, alert.Unreachable)
	return health.Check{
		Name: part + " answers", Raises: condition.Is,
		Lacks: func() []string {
			if _, is := silent(); is {
				return needed
			}
			return nil
		},
		Look: func(context.Context) health.Finding {
			since, is := silent()
			if is {
				return health.Broken("it does not answer", advice).Raising(condition, since)
			}
			return health.Sound("it has not been silent for long")
		},
	}
}

func (a *App) lookAtLog(ctx context.Context) health.Finding {
	begun := time.Now()
	head, err := a.journal.Log.Head(ctx)
	if err != nil {
		return health.Broken(err.Error(), storeAdvice)
	}
	kind := "an event store of its own, whose $all its user may read"
	if a.cfg.EventStore == "" {
		kind = "the embedded node"
	}
	return health.Sound("%s; the head is %s, read in %s", kind, head, time.Since(begun).Round(100*time.Microsecond))
}

// appendsCheck returns the check that appends succeed. It raises its alert immediately. The event of the alert is
// appended again until that succeeds, and is a probe: an instance that gets no requests because it is not ready notices
// in this way that the log takes events again.
func (a *App) appendsCheck() health.Check {
	condition := a.here(alert.LogSource, alert.NoAppends)
	return health.Check{
		Name: "the event store takes events", Every: probeEvery, RaiseAfter: 1, ClearAfter: 1, Raises: condition.Is,
		Rules: []string{"RecitalAppendsFail"},
		Lacks: lack("appends to the event store", func() bool {
			_, fail := a.readiness.appendsFail()
			return fail || a.readiness.noRoom.Load()
		}),
		Look: func(context.Context) health.Finding {
			a.lookForRoom()
			since, fail := a.readiness.appendsFail()
			switch {
			case fail:
				return health.Broken("the event store takes no events since "+since.UTC().Format(time.RFC3339), storeAdvice).
					Raising(condition, since)
			case a.readiness.noRoom.Load():
				return health.Broken("its disk is too full for any event", "make room or enlarge the disk").
					Raising(condition, time.Time{})
			}
			return health.Sound("no append has failed since the last one that did not")
		},
	}
}

// lookForRoom finds out whether the embedded node's disk has room for an append.
func (a *App) lookForRoom() {
	if a.nodeStats != nil {
		free := a.nodeStats().FreeBytes
		a.readiness.noRoom.Store(free > 0 && free < eventnode.SpaceReserve)
	}
}

// lookAtNode returns the progress of the node's verification. Damage ends the node, so it is never seen here.
func (a *App) lookAtNode(context.Context) health.Finding {
	if a.nodeStats == nil {
		return health.Sound("none is embedded")
	}
	s := a.nodeStats()
	if s.Verified < s.ToVerify {
		return health.Sound("%d of %d MiB are verified", s.Verified/mib, s.ToVerify/mib).But(health.Warning,
			"wait: the rest is read beside requests, slowly. Until then keep the last backup as it is; "+
				"damage ends recitald, whose log says where it is")
	}
	return health.Sound("all that was there at the start is verified, %d MiB", s.ToVerify/mib)
}

func (a *App) lookAtKeyring(ctx context.Context) health.Finding {
	ids, err := a.keyring.IDs(ctx)
	switch {
	case err != nil:
		return health.Broken(err.Error(), "see to Postgres and the event store first")
	case ids.Log != ids.Store:
		return health.Broken(fmt.Sprintf("the id in the log is %q, the one in Postgres %q", ids.Log, ids.Store),
			"restore the keyring from the backup; recitalctl keyring says what else there is")
	}
	return health.Sound("%s", ids.Log)
}

func (a *App) postgresCheck() health.Check {
	return a.silenceCheck(alert.PostgresSource, "Postgres",
		"see to Postgres: speech by API key goes on without it, all else waits",
		a.readiness.postgresIsSilent, "Postgres")
}

func (a *App) lookAtPostgres(ctx context.Context) health.Finding {
	var (
		version              int
		fsync, pages, commit string
		size                 string
		now                  time.Time
	)
	begun := time.Now()
	err := a.bootstrapPool.QueryRow(ctx, `select current_setting('server_version_num')::int / 10000,
		current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
		pg_size_pretty(pg_database_size(current_database())), clock_timestamp()`,
	).Scan(&version, &fsync, &pages, &commit, &size, &now)
	if err != nil {
		return health.Broken(err.Error(), "see to Postgres: speech by API key goes on without it, all else waits")
	}
	took := time.Since(begun)
	f := health.Sound("version %d, %s, read in %s", version, size, took.Round(100*time.Microsecond))
	switch skew := now.Sub(begun); {
	case fsync != "on" || pages != "on" || commit == "off":
		f.Found += fmt.Sprintf("; fsync is %s, full_page_writes %s, synchronous_commit %s", fsync, pages, commit)
		return f.But(health.Fault, "set all three to on: a crash of the machine loses keys of accounts otherwise")
	case version < oldestPostgres:
		return f.But(health.Warning, fmt.Sprintf("use version %d or later", oldestPostgres))
	case skew < -clockSkew || skew > took+clockSkew:
		f.Found += fmt.Sprintf("; its clock is %s from this one", skew.Round(time.Second))
		return f.But(health.Warning, "keep the clocks of all machines together (chrony, systemd-timesyncd)")
	}
	return f
}

const blobsAdvice = "clips are neither saved nor played, all else goes on; see to the store, RECITAL_BLOBS and its keys"

func (a *App) blobsCheck() health.Check {
	check := a.silenceCheck(alert.BlobsSource, "the blob store", blobsAdvice, a.blobStore.isSilent)
	check.Rules = []string{"RecitalBlobsAway"}
	return check
}

// lookAtBlobs writes, reads and deletes a blob. It cleans up unless it is interrupted.
func (a *App) lookAtBlobs(ctx context.Context) health.Finding {
	begun := time.Now()
	address := blobs.NewAddress(blobs.Owner("doctor-" + strings.ReplaceAll(uuid.NewString(), "-", "")))
	if err := a.tryBlob(ctx, address); err != nil {
		return health.Broken(err.Error(), blobsAdvice)
	}
	return health.Sound("tried in %s", time.Since(begun).Round(100*time.Microsecond))
}

func (a *App) tryBlob(ctx context.Context, address blobs.Address) error {
	const text = "a blob of recitalctl doctor"
	if _, err := a.blobs.Put(ctx, address, strings.NewReader(text), int64(len(text))); err != nil {
		return err
	}
	reader, err := a.blobs.Open(ctx, address, 0, int64(len(text)))
	if err != nil {
		return err
	}
	defer reader.Close()
	read, err := io.ReadAll(reader)
	if err == nil && string(read) != text {
		err = errors.New("what is read is not what was written")
	}
	if err != nil {
		return err
	}
	return a.blobs.Delete(ctx, address)
}

func (a *App) lookAtAlerts(ctx context.Context) health.Finding {
	_, _ = a.openAlert.Recorded(ctx) // the known alerts are shown after an error, too
	open := a.openAlert.Known()
	if len(open) == 0 {
		return health.Sound("none")
	}
	return health.Broken(fmt.Sprintf("%d, the oldest: %s", len(open), open[0].Sentence()),
		"recitalctl alerts lists them, and the operator's guide says what to do for each")
}

// vercelURL is the address of Vercel's API.
const vercelURL = "https://api.vercel.com"

// providerLooks is the number of checks of the parts for each check of the providers, which are other people's servers.
const providerLooks = 6

// providerCheck returns the check that a provider's server answers. Any reply but a server error (5xx) is an answer.
func (c *coreParts) providerCheck(source, provider, url string) health.Check {
	condition := c.here(source, alert.Unreachable)
	return health.Check{
		Name: provider + " answers", Every: providerLooks * c.cfg.alertEvery(), Raises: condition.Is,
		Rules: []string{"RecitalProviderAway"},
		Look: func(ctx context.Context) health.Finding {
			if err := reach(ctx, url); err != nil {
				return health.Broken(err.Error(), "see whether it is away for others, too, and what is between").
					Raising(condition, time.Time{})
			}
			return health.Sound("%s", url)
		},
	}
}

func reach(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	// The test needs a new connection.
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("it answers with status %d", response.StatusCode)
	}
	return nil
}

// expiryEvery is the interval between checks of certificates.
const expiryEvery = 10 * time.Minute

// certificateChecks returns checks for certificates that expire within a limit.
func certificateChecks(all []certificates.Certificate, limit time.Duration) (checks []health.Check) {
	for _, one := range all {
		condition := alert.Condition{Source: alert.ExpirySource, Subject: one.Name, Reason: alert.Expiring}
		checks = append(checks, health.Check{
			Name: "the certificate " + one.Name + " is good for some time", Every: expiryEvery, RaiseAfter: 1, ClearAfter: 1,
			Raises: condition.Is,
			Look: func(ctx context.Context) health.Finding {
				end, err := one.End(ctx)
				if err != nil {
					return health.Sound("%s", err).But(health.Warning, "see whether the server answers").ButUnknown()
				}
				return ofCertificate(end, condition, limit)
			},
		})
	}
	return checks
}

func ofCertificate(end time.Time, condition alert.Condition, limit time.Duration) health.Finding {
	f := health.Sound("it ends at %s", end.UTC().Format(time.RFC3339))
	switch left := time.Until(end); {
	case end.IsZero():
		return health.Sound("none is used")
	case left < 0:
		return f.But(health.Fault, "renew it now").Raising(condition, time.Time{})
	case left < limit:
		return f.But(health.Warning, "renew it").Raising(condition, time.Time{})
	}
	return f
}

// certificates returns the certificates on which recitald and its clients depend.
func (a *App) certificates() []certificates.Certificate {
	all := a.cfg.storeCertificates()
	if u, err := url.Parse(a.cfg.Postgres); err == nil && a.cfg.Postgres != "" {
		all = append(all, certificates.Certificate{
			Name: "of Postgres",
			End:  func(ctx context.Context) (time.Time, error) { return postgres.CertificateEnd(ctx, a.pool) },
		})
		all = append(all, certificates.InFile(u.Query().Get("sslcert"), certificates.First)...)
		if authorities := u.Query().Get("sslrootcert"); authorities != "system" {
			all = append(all, certificates.InFile(authorities, certificates.Last)...)
		}
	}
	if u, err := url.Parse(a.cfg.PublicURL); err == nil && u.Scheme == "https" {
		all = append(all, certificates.Served("of the public address", u.Host, "443"))
	}
	if a.cfg.blobsInS3() {
		if conf, err := a.cfg.s3(); err == nil && !conf.Location.Plain {
			all = append(all, certificates.Served("of the blob store", conf.Location.Host, "443"))
		}
	}
	return all
}

// storeCertificates returns the certificates of the event store.
func (c Config) storeCertificates() (all []certificates.Certificate) {
	u, err := url.Parse(c.EventStore)
	if err != nil || c.EventStore == "" {
		return nil
	}
	options := url.Values{}
	for name, values := range u.Query() {
		options[strings.ToLower(name)] = values
	}
	if options.Get("tls") == "false" {
		return nil
	}
	for _, host := range strings.Split(u.Host, ",") {
		all = append(all, certificates.Served("of the event store "+host, host, "2113"))
	}
	all = append(all, certificates.InFile(options.Get("tlscafile"), certificates.Last)...)
	return append(all, certificates.InFile(options.Get("usercertfile"), certificates.First)...)
}
