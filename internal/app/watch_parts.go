package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/feed"
)

// partWatches look at what recitald rests on.
func (p *parts) partWatches() []alerts.Watch {
	return slices.Concat([]alerts.Watch{
		p.watchPart(alert.LogSource, p.storeIsSilent),
		p.watchPart(alert.PostgresSource, p.readiness.postgresIsSilent),
		p.watchPart(alert.BlobsSource, p.blobStore.isSilent),
		watchDisk(p.instance(), p.cfg.alertFolders(), p.cfg.diskLimit()),
		watchLag(p.recentGenerations, ReadModels(), p.cfg.lagLimit()),
	}, p.workerWatches(), []alerts.Watch{watchExpiry(p.certificates(), expiryLimit)})
}

// recentGenerations returns those of the read models as they were a moment ago, nil when they could not be read.
func (p *parts) recentGenerations() []feed.Generation {
	overview, _ := p.metrics.projections.overview.get()
	return overview.Generations
}

// here returns a condition of this instance.
func (p *parts) here(source string, reason alert.Reason) alert.Condition {
	return alert.Condition{Source: source, Subject: p.instance(), Reason: reason}
}

// watchPart looks whether a part answers. silent returns since when it does not; zero if that is not known.
func (p *parts) watchPart(source string, silent func() (since time.Time, is bool)) alerts.Watch {
	condition := p.here(source, alert.Unreachable)
	return alerts.Watch{
		Name: "the look at whether " + source + " answers", Of: alerts.One(condition),
		Look: func(context.Context) ([]alerts.Found, error) {
			since, is := silent()
			if !is {
				return nil, nil
			}
			return []alerts.Found{{Condition: condition, Since: since, Detail: "it does not answer"}}, nil
		},
	}
}

func (p *parts) storeIsSilent() (time.Time, bool) {
	silence := p.storeSilence()
	return time.Now().Add(-silence), silence > storeSilence
}

// watchDisk looks how full the disks of folders are. An alert is over when a disk is one per cent below the limit.
func watchDisk(instance string, folders []string, limit diskLimit) alerts.Watch {
	condition := func(folder string) alert.Condition {
		return alert.Condition{Source: alert.DiskSource, Subject: instance + ", folder " + folder, Reason: alert.DiskFull}
	}
	full := map[string]bool{}
	return alerts.Watch{
		Name: "the look at the disk",
		Of: func(c alert.Condition) bool {
			return slices.ContainsFunc(folders, func(folder string) bool { return c == condition(folder) })
		},
		Look: func(context.Context) (found []alerts.Found, err error) {
			for _, folder := range folders {
				use, err := diskUseOf(folder)
				if err != nil {
					return nil, err
				}
				full[folder] = limit.reached(use) || full[folder] && limit.reached(use.with(0.01))
				if full[folder] {
					found = append(found, alerts.Found{Condition: condition(folder), Detail: use.String()})
				}
			}
			return found, nil
		},
	}
}

// diskUse is how full a disk is: what an unprivileged user may fill, in bytes, and what is left of it.
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

// with returns the use with another share of the disk filled.
func (u diskUse) with(share float64) diskUse { return diskUse{u.size, u.free - share*u.size} }

// String returns the use for people.
func (u diskUse) String() string {
	return fmt.Sprintf("%.1f %% are used, %.2f GiB are free", u.percent(), u.free/(1<<30))
}

// diskLimit is how full a disk may be.
type diskLimit struct {
	percent float64
	floor   float64 // bytes that are left free; the embedded node takes no events below half of them
}

func (l diskLimit) reached(u diskUse) bool { return u.percent() >= l.percent || u.free < l.floor }

// alertFolders are those whose disks recitald fills.
func (c Config) alertFolders() []string {
	if c.Blobs == "" || c.blobsInS3() {
		return []string{c.DataDir}
	}
	return []string{c.DataDir, c.Blobs}
}

var errNoOverview = errors.New("the read models' checkpoints or the log's head cannot be read")

// watchLag looks how far live generations of this release are behind the log.
func watchLag(generations func() []feed.Generation, of []feed.Projection, limit time.Duration) alerts.Watch {
	ours := func(g feed.Generation) bool {
		return g.Live && slices.ContainsFunc(of, func(p feed.Projection) bool { return p.Name == g.Name && p.Version == g.Version })
	}
	return alerts.Watch{
		Name: "the look at the lag of read models",
		Of: func(c alert.Condition) bool {
			return c.Reason == alert.Behind && slices.ContainsFunc(of, func(p feed.Projection) bool {
				return strings.HasPrefix(c.Subject, fmt.Sprintf("%s_v%d_", p.Name, p.Version))
			})
		},
		Look: func(context.Context) (found []alerts.Found, err error) {
			all := generations()
			if all == nil {
				return nil, errNoOverview
			}
			for _, g := range all {
				if ours(g) && g.Lag > limit {
					found = append(found, alerts.Found{
						Condition: alert.Condition{Source: projectionSource + g.Name, Subject: feed.GenerationName(g.Name, g.Version, g.Number), Reason: alert.Behind},
						Since:     time.Now().Add(-g.Lag), Detail: fmt.Sprintf("it is %s behind", g.Lag.Round(time.Second)),
					})
				}
			}
			return found, nil
		},
	}
}
