package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/providers/blobs"
	writeapi "github.com/recital-tts/recital/writeapi/operations"
)

const (
	examinationTimeout = 5 * time.Second
	// nearlyFull is how full a disk may be, in per cent, before the doctor warns.
	nearlyFull = 85
	// clockSkew is how far clocks may be apart.
	clockSkew = 2 * time.Second
	// oldestPostgres is the version that the tests run on.
	oldestPostgres = 15
)

// diagnosis is a finding without its name.
type diagnosis struct{ state, found, advice string }

func sound(format string, of ...any) diagnosis {
	return diagnosis{writeapi.Sound, fmt.Sprintf(format, of...), ""}
}

// but returns a finding that is worse. Its advice says what to do.
func (d diagnosis) but(state, advice string) diagnosis { return diagnosis{state, d.found, advice} }

func fault(found, advice string) diagnosis { return diagnosis{writeapi.Fault, found, advice} }

// examine tries all parts at once.
func (p *parts) examine(ctx context.Context) writeapi.Examination {
	ctx, cancel := context.WithTimeout(ctx, examinationTimeout)
	defer cancel()
	checks := []struct {
		name string
		run  func(context.Context) diagnosis
	}{
		{"the settings and their files are sound", p.examineSettings},
		{"there are enough file descriptors", p.examineFiles},
		{"the disks have room", p.examineDisks},
		{"the event store answers and takes events", p.examineLog},
		{"the embedded node's log is without damage", p.examineNode},
		{"the audit chain is signed", p.examineHeads},
		{"Postgres answers and keeps what it is given", p.examinePostgres},
		{"the keyring is that of the log", p.examineKeyring},
		{"blobs can be written, read and deleted", p.examineBlobs},
		{"speech engines and codecs run", p.examineWorkers},
		{"the read models are up to date", p.examineReadModels},
		{"certificates are good for some time", p.examineCertificates},
		{"no alert is open", p.examineAlerts},
	}
	found := writeapi.Examination{Instance: p.instance(), Version: version(), At: time.Now().UTC(), Findings: make([]writeapi.Finding, len(checks))}
	var group sync.WaitGroup
	for i, check := range checks {
		group.Go(func() {
			d := check.run(ctx)
			found.Findings[i] = writeapi.Finding{Check: check.name, State: d.state, Found: d.found, Advice: d.advice}
		})
	}
	group.Wait()
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

func (p *parts) examineSettings(context.Context) diagnosis {
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
	d := sound("mode %s, %d settings are not defaults", p.cfg.Mode, changed)
	if len(open) > 0 {
		d.found += "; other users may read " + strings.Join(open, ", ")
		return d.but(writeapi.Warning, "chmod 600 these files, as far as your platform permits")
	}
	return d
}

func isOpenToOthers(path string) bool {
	info, err := os.Stat(path)
	return err == nil && path != "" && info.Mode().Perm()&0o077 != fs.FileMode(0)
}

func (p *parts) examineFiles(context.Context) diagnosis {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fault(err.Error(), "")
	}
	d := sound("%d for %d connections", limit.Cur, p.cfg.Connections)
	if limit.Cur < uint64(p.cfg.Connections+ownFiles) {
		return d.but(writeapi.Warning, fmt.Sprintf("raise the limit to %d (LimitNOFILE, ulimit -n), or lower RECITAL_CONNECTIONS", p.cfg.Connections+ownFiles))
	}
	return d
}

func (p *parts) examineDisks(context.Context) diagnosis {
	worst := sound("")
	for _, folder := range p.cfg.alertFolders() {
		use, err := diskUseOf(folder)
		if err != nil {
			return fault(err.Error(), "see whether the disk is mounted and readable")
		}
		worst.found += fmt.Sprintf("%s: %s; ", folder, use)
		switch {
		case p.cfg.diskLimit().reached(use):
			worst = worst.but(writeapi.Fault, "make room or enlarge the disk now: on a full disk nothing is taken any more, and nothing is lost")
		case use.percent() >= nearlyFull && worst.state == writeapi.Sound:
			worst = worst.but(writeapi.Warning, "enlarge the disk soon; recitalctl projections retire drops generations of read models that nobody needs")
		}
	}
	worst.found = strings.TrimSuffix(worst.found, "; ")
	return worst
}

func (p *parts) examineLog(ctx context.Context) diagnosis {
	const advice = "see to the event store: its disk, its process, the network between; its own log says more. Reads and what is being spoken go on for a while"
	begun := time.Now()
	head, err := p.journal.Log.Head(ctx)
	if err != nil {
		return fault(err.Error(), advice)
	}
	if since, fail := p.readiness.appendsFail(); fail {
		return fault("it takes no events since "+since.UTC().Format(time.RFC3339), advice)
	}
	kind := "an event store of its own, whose $all its user may read"
	if p.cfg.EventStore == "" {
		kind = "the embedded node"
	}
	return sound("%s; the head is %s, read in %s", kind, head, time.Since(begun).Round(100*time.Microsecond))
}

// examineNode shows how far the node's verification is. Damage that it finds ends the node, so nothing but progress is seen here.
func (p *parts) examineNode(context.Context) diagnosis {
	if p.nodeStats == nil {
		return sound("none is embedded")
	}
	const mib = 1 << 20
	s := p.nodeStats()
	if s.Verified < s.ToVerify {
		d := sound("%d of %d MiB are verified", s.Verified/mib, s.ToVerify/mib)
		return d.but(writeapi.Warning, "wait: the rest is read beside requests, slowly. Until then keep the last backup as it is; damage ends recitald, whose log says where it is")
	}
	return sound("all that was there at the start is verified, %d MiB", s.ToVerify/mib)
}

func (p *parts) examinePostgres(ctx context.Context) diagnosis {
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
		return fault(err.Error(), "see to Postgres: speech by API key goes on without it, all else waits")
	}
	took := time.Since(begun)
	d := sound("version %d, %s, read in %s", version, size, took.Round(100*time.Microsecond))
	switch skew := now.Sub(begun); {
	case fsync != "on" || pages != "on" || commit == "off":
		d.found += fmt.Sprintf("; fsync is %s, full_page_writes %s, synchronous_commit %s", fsync, pages, commit)
		return d.but(writeapi.Fault, "set all three to on: a crash of the machine loses keys of accounts otherwise")
	case version < oldestPostgres:
		return d.but(writeapi.Warning, fmt.Sprintf("use version %d or later", oldestPostgres))
	case skew < -clockSkew || skew > took+clockSkew:
		d.found += fmt.Sprintf("; its clock is %s from this one", skew.Round(time.Second))
		return d.but(writeapi.Warning, "keep the clocks of all machines together (chrony, systemd-timesyncd)")
	}
	return d
}

func (p *parts) examineKeyring(ctx context.Context) diagnosis {
	ids, err := p.keyring.IDs(ctx)
	switch {
	case err != nil:
		return fault(err.Error(), "see to Postgres and the event store first")
	case ids.Log != ids.Store:
		return fault("the log's is "+orNone(ids.Log)+", that in Postgres "+orNone(ids.Store), "restore the keyring from the backup; recitalctl keyring says what else there is")
	}
	return sound("%s", ids.Log)
}

func orNone(id string) string {
	if id == "" {
		return "none"
	}
	return id
}

// examineBlobs leaves nothing behind, unless it is cut off.
func (p *parts) examineBlobs(ctx context.Context) diagnosis {
	begun := time.Now()
	address := blobs.NewAddress(blobs.Owner("doctor-" + strings.ReplaceAll(uuid.NewString(), "-", "")))
	if err := p.tryBlob(ctx, address); err != nil {
		return fault(err.Error(), "clips are neither saved nor played, all else goes on; see to the store, RECITAL_BLOBS and its keys")
	}
	return sound("tried in %s", time.Since(begun).Round(100*time.Microsecond))
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

func (p *parts) examineWorkers(context.Context) diagnosis {
	one, two, codecs := p.engines.Stats(), p.second.Stats(), p.codecs.Stats()
	d := sound("%d of %d espeak-ng, %d of %d flite, %d of %d codecs", one.Alive, one.Size, two.Alive, two.Size, codecs.Running, codecs.Size)
	switch {
	case one.Alive == 0 || codecs.Running == 0:
		return d.but(writeapi.Fault, "nothing is spoken without them: recitald's log says why they end; speechworker and the libraries it links belong to one release")
	case one.Alive < one.Size || two.Alive < two.Size || codecs.Running < codecs.Size:
		return d.but(writeapi.Warning, "some are being started again; where that does not end, recitald's log says why")
	}
	return d
}

func (p *parts) examineReadModels(ctx context.Context) diagnosis {
	overview, err := p.projector.Overview(ctx)
	if err != nil {
		return fault(err.Error(), "see to Postgres and the event store first")
	}
	var stopped, behind []string
	for _, g := range overview.Generations {
		name := fmt.Sprintf("%s version %d generation %d", g.Name, g.Version, g.Number)
		switch {
		case g.State == feed.GenerationStopped || g.Parked > 0:
			stopped = append(stopped, name)
		case g.Live && g.Lag > p.cfg.lagLimit():
			behind = append(behind, name+" by "+g.Lag.Round(time.Second).String())
		}
	}
	switch {
	case len(stopped) > 0:
		return fault("an event stops "+strings.Join(stopped, ", "), "recitalctl projections list says why, recitalctl projections parked list which event it is")
	case len(behind) > 0:
		return fault("behind: "+strings.Join(behind, ", "), "see to the load of Postgres; recitalctl projections list shows whether they catch up")
	}
	return sound("%d generations", len(overview.Generations))
}

func (p *parts) examineCertificates(ctx context.Context) diagnosis {
	d := sound("none is used")
	var first time.Time
	for _, one := range p.certificates() {
		end, err := one.expires(ctx)
		if err != nil {
			return diagnosis{writeapi.Warning, "that " + one.name + ": " + err.Error(), "see whether the server answers"}
		}
		if !end.IsZero() && (first.IsZero() || end.Before(first)) {
			first, d = end, sound("the first to end is that %s, at %s", one.name, end.UTC().Format(time.RFC3339))
		}
	}
	switch left := time.Until(first); {
	case first.IsZero():
		return d
	case left < 0:
		return d.but(writeapi.Fault, "renew it now")
	case left < expiryLimit:
		return d.but(writeapi.Warning, "renew it")
	}
	return d
}

func (p *parts) examineAlerts(ctx context.Context) diagnosis {
	_, _ = p.openAlert.Recorded(ctx) // what is known is shown without it, too
	open := p.openAlert.Known()
	if len(open) == 0 {
		return sound("none")
	}
	return fault(fmt.Sprintf("%d, the oldest: %s", len(open), open[0].Sentence()), "recitalctl alerts lists them, and the operator's guide says what to do for each")
}
