package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

const (
	// nearlyFull is how full a disk may be, in per cent, before the doctor warns.
	nearlyFull = 85
	// clockSkew is how far clocks may be apart.
	clockSkew = 2 * time.Second
	// oldestPostgres is the version that the tests run on.
	oldestPostgres = 15
	// A crash loop is this number of deaths of workers within crashWindow. Workers that die are started again.
	crashWindow, crashes = time.Minute, 5
	// failureWindow is the time over which the share of failures counts, and fewFailures how many are too few to be a
	// share.
	failureWindow, fewFailures = 5 * time.Minute, 5
)

// partChecks look at what recitald rests on. The checks of a slice are with it.
func (p *parts) partChecks() []health.Check {
	return slices.Concat(
		[]health.Check{
			{Name: "the settings and their files are sound", Look: p.lookAtSettings},
			{Name: "there are enough file descriptors", Look: p.lookAtFiles},
		},
		diskChecks(p.instance(), p.cfg.alertFolders(), p.cfg.diskLimit()),
		[]health.Check{
			p.storeCheck(), {Name: "the event log can be read", Look: p.lookAtLog}, p.appendsCheck(),
			{Name: "the embedded node's log is without damage", Look: p.lookAtNode},
			{Name: "the keyring is that of the log", Look: p.lookAtKeyring, Lacks: lack("the log's keyring", p.foreignKeyring.Load)},
			p.postgresCheck(), {Name: "Postgres keeps what it is given", Look: p.lookAtPostgres},
			p.blobsCheck(), {Name: "blobs can be written, read and deleted", Look: p.lookAtBlobs},
			p.readModelsCheck(),
		},
		p.workerChecks(), certificateChecks(p.certificates(), expiryLimit),
		[]health.Check{{Name: "no alert is open", Look: p.lookAtAlerts, Rules: []string{"RecitalAlertOpen", "RecitalAlertRaised"}}},
	)
}

// here returns a condition of this instance.
func (p *parts) here(source string, reason alert.Reason) alert.Condition {
	return alert.Condition{Source: source, Subject: p.instance(), Reason: reason}
}

// lack returns what requests lack while something is missing.
func lack(name string, isMissing func() bool) func() []string {
	return func() []string {
		if isMissing() {
			return []string{name}
		}
		return nil
	}
}

func (p *parts) lookAtSettings(context.Context) health.Finding {
	changed := 0
	var open []string
	for _, s := range p.cfg.Settings() {
		if s.From != "default" {
			changed++
		}
		if strings.HasSuffix(s.Flag, "-file") && s.Flag != "country-file" && isOpenToOthers(s.Value) {
			open = append(open, s.Value)
		}
	}
	for _, name := range []string{"operator-token", "auditor-token", "master-key", "signing-key", devKeyFile} {
		if path := filepath.Join(p.cfg.DataDir, name); isOpenToOthers(path) {
			open = append(open, path)
		}
	}
	f := health.Sound("mode %s, %d settings are not defaults", p.cfg.Mode, changed)
	if len(open) > 0 {
		f.Found += "; other users may read " + strings.Join(open, ", ")
		return f.But(health.Warning, "chmod 600 these files, as far as your platform permits")
	}
	return f
}

func isOpenToOthers(path string) bool {
	info, err := os.Stat(path)
	return err == nil && path != "" && info.Mode().Perm()&0o077 != fs.FileMode(0)
}

func (p *parts) lookAtFiles(context.Context) health.Finding {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return health.Broken(err.Error(), "see why the limit of open files cannot be read")
	}
	f := health.Sound("%d for %d connections", limit.Cur, p.cfg.Connections)
	if needed := p.cfg.Connections + ownFiles; limit.Cur < uint64(needed) {
		return f.But(health.Warning, fmt.Sprintf("raise the limit to %d (LimitNOFILE, ulimit -n), or lower RECITAL_CONNECTIONS", needed))
	}
	return f
}

// diskUse is how full a disk is: its size for unprivileged users, in bytes, and the free part of it.
type diskUse struct{ size, free float64 }

func diskUseOf(folder string) (diskUse, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return diskUse{}, fmt.Errorf("looking at the disk of %s: %w", folder, err)
	}
	block := float64(disk.Bsize)
	return diskUse{size: float64(disk.Blocks-disk.Bfree+disk.Bavail) * block, free: float64(disk.Bavail) * block}, nil
}

func (u diskUse) percent() float64 { return 100 * (1 - u.free/max(u.size, 1)) }

// diskLimit is how full a disk may be.
type diskLimit struct {
	percent float64
	floor   float64 // bytes that are left free; the embedded node takes no events below half of them
}

func (l diskLimit) isReached(u diskUse) bool { return u.percent() >= l.percent || u.free < l.floor }

// alertFolders are the folders on the disks that recitald fills.
func (c Config) alertFolders() []string {
	if c.Blobs == "" || c.blobsInS3() {
		return []string{c.DataDir}
	}
	return []string{c.DataDir, c.Blobs}
}

// diskChecks look how full the disks of folders are. An alert is over when its disk is one per cent below the limit.
func diskChecks(instance string, folders []string, limit diskLimit) (checks []health.Check) {
	for _, folder := range folders {
		condition := alert.Condition{Source: alert.DiskSource, Subject: instance + ", folder " + folder, Reason: alert.DiskFull}
		var isFull atomic.Bool
		checks = append(checks, health.Check{Name: "the disk of " + folder + " has room", Raises: condition.Is, Rules: []string{"RecitalDiskFull"}, Look: func(context.Context) health.Finding {
			use, err := diskUseOf(folder)
			if err != nil {
				return health.Broken(err.Error(), "see whether the disk is mounted and readable").ButUnknown()
			}
			bound := limit
			if isFull.Load() {
				bound = diskLimit{limit.percent - 1, limit.floor + use.size/100}
			}
			isFull.Store(bound.isReached(use))
			f := health.Sound("%.1f %% are used, %.2f GiB are free", use.percent(), use.free/(1<<30))
			switch {
			case isFull.Load():
				return f.But(health.Fault, "make room or enlarge the disk now: a full disk takes nothing more, and nothing is lost").Raising(condition, time.Time{})
			case use.percent() >= nearlyFull:
				return f.But(health.Warning, "enlarge the disk soon; recitalctl projections retire drops generations of read models that nobody needs")
			}
			return f
		}})
	}
	return checks
}

const storeAdvice = "see to the event store: its disk, its process, the network between; its own log says more. " +
	"Reads and what is being spoken go on for a while"

// storeSilence is how long the event store may be silent.
const storeSilence = 2 * time.Second

func (p *parts) storeCheck() health.Check {
	check := p.silenceCheck(alert.LogSource, "the event store", storeAdvice, func() (time.Time, bool) {
		silence := p.storeSilence()
		return time.Now().Add(-silence), silence > storeSilence
	}, "event store")
	check.Rules = []string{"RecitalLogSilent"}
	return check
}

// silenceCheck looks whether a part answers. silent returns since when it does not. Requests lack what needed names.
func (p *parts) silenceCheck(source, part, advice string, silent func() (since time.Time, is bool), needed ...string) health.Check {
	condition := p.here(source, alert.Unreachable)
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

func (p *parts) lookAtLog(ctx context.Context) health.Finding {
	begun := time.Now()
	head, err := p.journal.Log.Head(ctx)
	if err != nil {
		return health.Broken(err.Error(), storeAdvice)
	}
	kind := "an event store of its own, whose $all its user may read"
	if p.cfg.EventStore == "" {
		kind = "the embedded node"
	}
	return health.Sound("%s; the head is %s, read in %s", kind, head, time.Since(begun).Round(100*time.Microsecond))
}

// appendsCheck raises its alert at once. The event of the alert is tried until the log takes it, which is a probe:
// without it an instance that gets no requests because it is not ready would never find out that the log takes events
// again.
func (p *parts) appendsCheck() health.Check {
	condition := p.here(alert.LogSource, alert.NoAppends)
	return health.Check{
		Name: "the event store takes events", Every: probeEvery, RaiseAfter: 1, ClearAfter: 1, Raises: condition.Is,
		Rules: []string{"RecitalAppendsFail"},
		Lacks: lack("appends to the event store", func() bool {
			_, fail := p.readiness.appendsFail()
			return fail || p.readiness.noRoom.Load()
		}),
		Look: func(context.Context) health.Finding {
			p.lookForRoom()
			since, fail := p.readiness.appendsFail()
			switch {
			case fail:
				return health.Broken("the event store takes no events since "+since.UTC().Format(time.RFC3339), storeAdvice).Raising(condition, since)
			case p.readiness.noRoom.Load():
				return health.Broken("its disk is too full for any event", "make room or enlarge the disk").Raising(condition, time.Time{})
			}
			return health.Sound("no append has failed since the last one that did not")
		},
	}
}

// lookForRoom looks whether the embedded node's disk has room for any append.
func (p *parts) lookForRoom() {
	if p.nodeStats != nil {
		free := p.nodeStats().FreeBytes
		p.readiness.noRoom.Store(free > 0 && free < eventnode.SpaceReserve)
	}
}

// lookAtNode finds out how far the node's verification is. Damage ends the node, so that only progress is seen here.
func (p *parts) lookAtNode(context.Context) health.Finding {
	if p.nodeStats == nil {
		return health.Sound("none is embedded")
	}
	const mib = 1 << 20
	s := p.nodeStats()
	if s.Verified < s.ToVerify {
		return health.Sound("%d of %d MiB are verified", s.Verified/mib, s.ToVerify/mib).But(health.Warning,
			"wait: the rest is read beside requests, slowly. Until then keep the last backup as it is; damage ends recitald, whose log says where it is")
	}
	return health.Sound("all that was there at the start is verified, %d MiB", s.ToVerify/mib)
}

func (p *parts) lookAtKeyring(ctx context.Context) health.Finding {
	ids, err := p.keyring.IDs(ctx)
	switch {
	case err != nil:
		return health.Broken(err.Error(), "see to Postgres and the event store first")
	case ids.Log != ids.Store:
		return health.Broken(fmt.Sprintf("the id in the log is %q, the one in Postgres %q", ids.Log, ids.Store),
			"restore the keyring from the backup; recitalctl keyring says what else there is")
	}
	return health.Sound("%s", ids.Log)
}

func (p *parts) postgresCheck() health.Check {
	return p.silenceCheck(alert.PostgresSource, "Postgres", "see to Postgres: speech by API key goes on without it, all else waits",
		p.readiness.postgresIsSilent, "Postgres")
}

func (p *parts) lookAtPostgres(ctx context.Context) health.Finding {
	var (
		version              int
		fsync, pages, commit string
		size                 string
		now                  time.Time
	)
	begun := time.Now()
	err := p.entrance.QueryRow(ctx, `select current_setting('server_version_num')::int / 10000, current_setting('fsync'), current_setting('full_page_writes'),
		current_setting('synchronous_commit'), pg_size_pretty(pg_database_size(current_database())), clock_timestamp()`).Scan(&version, &fsync, &pages, &commit, &size, &now)
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

func (p *parts) blobsCheck() health.Check {
	check := p.silenceCheck(alert.BlobsSource, "the blob store", blobsAdvice, p.blobStore.isSilent)
	check.Rules = []string{"RecitalBlobsAway"}
	return check
}

// lookAtBlobs leaves nothing behind, unless it is cut off.
func (p *parts) lookAtBlobs(ctx context.Context) health.Finding {
	begun := time.Now()
	address := blobs.NewAddress(blobs.Owner("doctor-" + strings.ReplaceAll(uuid.NewString(), "-", "")))
	if err := p.tryBlob(ctx, address); err != nil {
		return health.Broken(err.Error(), blobsAdvice)
	}
	return health.Sound("tried in %s", time.Since(begun).Round(100*time.Microsecond))
}

func (p *parts) tryBlob(ctx context.Context, address blobs.Address) error {
	const text = "a blob of recitalctl doctor"
	if _, err := p.blobs.Put(ctx, address, strings.NewReader(text)); err != nil {
		return err
	}
	reader, err := p.blobs.Open(ctx, address, 0, int64(len(text)))
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
	return p.blobs.Delete(ctx, address)
}

// readModelsCheck looks for read models that have stopped, and for live ones of this release that are behind the log.
func (p *parts) readModelsCheck() health.Check {
	return health.Check{
		Name: "the read models are up to date", Lacks: p.lacksReadModels,
		Rules: []string{"RecitalReadModelStopped", "RecitalReadModelBehind", "RecitalEventsParked"},
		Raises: func(c alert.Condition) bool {
			return c.Reason == alert.Behind && slices.ContainsFunc(ReadModels(), func(m feed.Projection) bool {
				return strings.HasPrefix(c.Subject, fmt.Sprintf("%s_v%d_", m.Name, m.Version))
			})
		},
		Look: func(context.Context) health.Finding {
			overview, known := p.metrics.projections.overview.get()
			if !known {
				return health.Broken("their checkpoints or the log's head cannot be read", "see to Postgres and the event store first").ButUnknown()
			}
			return ofGenerations(overview.Generations, ReadModels(), p.cfg.lagLimit())
		},
	}
}

func (p *parts) lacksReadModels() (names []string) {
	select {
	case <-p.projector.CaughtUp():
		names = lack("read models that have caught up", p.readiness.behind.Load)()
	default:
		names = []string{"read models that have caught up"}
	}
	for _, model := range p.projector.Status() {
		if model.State == feed.StateStopped {
			names = append(names, "read model "+model.Name)
		}
	}
	return names
}

func ofGenerations(generations []feed.Generation, own []feed.Projection, limit time.Duration) health.Finding {
	var stopped, behind []string
	f := health.Sound("%d generations", len(generations))
	for _, g := range generations {
		name := fmt.Sprintf("%s version %d generation %d", g.Name, g.Version, g.Number)
		isOwn := slices.ContainsFunc(own, func(m feed.Projection) bool { return m.Name == g.Name && m.Version == g.Version })
		if g.State == feed.GenerationStopped || g.Parked > 0 {
			stopped = append(stopped, name)
		} else if g.Live && g.Lag > limit {
			behind = append(behind, name+" by "+g.Lag.Round(time.Second).String())
		}
		if g.Live && isOwn && g.Lag > limit {
			f.Problems = append(f.Problems, health.Problem{
				Condition: alert.Condition{Source: projectionSource + g.Name, Subject: feed.GenerationName(g.Name, g.Version, g.Number), Reason: alert.Behind},
				Since:     time.Now().Add(-g.Lag), Detail: fmt.Sprintf("it is %s behind", g.Lag.Round(time.Second)),
			})
		}
	}
	switch {
	case len(stopped) > 0:
		f.Found = "an event stops " + strings.Join(stopped, ", ")
		return f.But(health.Fault, "recitalctl projections list says why, recitalctl projections parked list which event it is")
	case len(behind) > 0:
		f.Found = "behind: " + strings.Join(behind, ", ")
		return f.But(health.Fault, "see to the load of Postgres; recitalctl projections list shows whether they catch up")
	}
	return f
}

// workerPool is how the processes of a pool are.
type workerPool struct {
	alive, size int
	deaths      uint64
}

// workerChecks look at the processes that speak and encode. Without the second engine all but the blizzard models'
// English is served: no balancer takes the instance out for it.
func (p *parts) workerChecks() []health.Check {
	first := crashCheck(p.here("workers/espeak-ng", alert.CrashLoop), health.Fault, crashWindow, func() workerPool {
		s := p.engines.Stats()
		return workerPool{s.Alive, s.Size, s.Respawns}
	})
	first.Lacks, first.Rules = lack("speech engine", func() bool { return !p.engines.Healthy() }), []string{"RecitalEnginesDie"}
	second := crashCheck(p.here("workers/flite", alert.CrashLoop), health.Warning, crashWindow, func() workerPool {
		s := p.second.Stats()
		return workerPool{s.Alive, s.Size, s.Respawns}
	})
	codecs := crashCheck(p.here("workers/codec", alert.CrashLoop), health.Fault, crashWindow, func() workerPool {
		s := p.codecs.Stats()
		return workerPool{s.Running, s.Size, s.Restarts}
	})
	codecs.Lacks, codecs.Rules = lack("codec", func() bool { return !p.codecs.Healthy() }), []string{"RecitalCodecsDie"}
	return []health.Check{first, second, codecs, failureCheck(p.here(alert.SpeechSource, alert.Failing), failureLimit, func() health.Tally {
		one, two := p.engines.Stats(), p.second.Stats()
		return health.Tally{All: one.Jobs + two.Jobs, Bad: one.Failed + two.Failed}
	})}
}

// crashCheck looks whether workers die one after the other, or none is alive, which is as bad as worst.
func crashCheck(condition alert.Condition, worst health.State, within time.Duration, stats func() workerPool) health.Check {
	recent := health.Window{Length: within}
	return health.Check{Name: strings.TrimPrefix(condition.Source, "workers/") + " workers run", Raises: condition.Is, Look: func(context.Context) health.Finding {
		pool := stats()
		died := recent.Since(time.Now(), health.Tally{Bad: pool.deaths}).Bad
		f := health.Sound("%d of %d are alive, and %d have died within %s", pool.alive, pool.size, died, within)
		if pool.alive == 0 || died >= crashes {
			f = f.Raising(condition, time.Time{})
		}
		switch {
		case pool.alive == 0:
			return f.But(worst, "recitald's log says why they end; speechworker and the libraries it links belong to one release")
		case pool.alive < pool.size || died >= crashes:
			return f.But(health.Warning, "some are being started again; where that does not end, recitald's log says why")
		}
		return f
	}}
}

// failureCheck looks whether more than a limit, in per cent, of the latest jobs has failed.
func failureCheck(condition alert.Condition, limit float64, count func() health.Tally) health.Check {
	recent := health.Window{Length: failureWindow}
	return health.Check{Name: "few syntheses fail", Raises: condition.Is, Rules: []string{"RecitalSpeechFails"}, Look: func(context.Context) health.Finding {
		counted := recent.Since(time.Now(), count())
		f := health.Sound("%d of %d have failed within five minutes", counted.Bad, counted.All)
		if counted.Bad < fewFailures || 100*float64(counted.Bad) < limit*float64(counted.All) {
			return f
		}
		return f.But(health.Fault, "recitald's log says why engines end or take too long").Raising(condition, time.Time{})
	}}
}

func (p *parts) lookAtAlerts(ctx context.Context) health.Finding {
	_, _ = p.openAlert.Recorded(ctx) // what is known is shown without it, too
	open := p.openAlert.Known()
	if len(open) == 0 {
		return health.Sound("none")
	}
	return health.Broken(fmt.Sprintf("%d, the oldest: %s", len(open), open[0].Sentence()),
		"recitalctl alerts lists them, and the operator's guide says what to do for each")
}
