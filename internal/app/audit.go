package app

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/commands/alerts"
	commands "github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/chain"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/speech/wordtimes"
	projections "github.com/recital-tts/recital/projections/audit"
	readapi "github.com/recital-tts/recital/readapi/audit"
	"github.com/recital-tts/recital/readapi/clips"
	"github.com/recital-tts/recital/writeapi"
	writeaudit "github.com/recital-tts/recital/writeapi/audit"
)

// auditSlice returns the slice of the auditors' routes.
func auditSlice(core *coreParts, stores *storeParts, shared *sharedParts) slice {
	return slice{
		name:       "audit",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func() (service, error) {
			records := commands.New(core.journal, time.Now)
			read := readapi.API{
				Models: core.projector, Keys: core.keys, EmailHash: shared.accounts.EmailHash,
				Kinds: eventTypes(core.journal.Registry),
				Record: func(call *web.Call, asked readapi.Query, count int, reason string) error {
					_, err := records.RecordRead(call, audit.Query(asked), count, reason, writeapi.Origin(call.Caller))
					return err
				},
			}
			shared.acts = &writeaudit.Acts{Audit: records, Log: core.log, Now: time.Now}
			heads := auditHeads(core, shared.alerts)
			write := &writeaudit.API{
				Audit: records, Heads: heads, Stores: erasureStores(core, stores, shared.wordTimes, records), Now: time.Now,
			}
			return service{
				public:     read.Routes(),
				admin:      append(read.AdminRoutes(), write.AdminRoutes()...),
				jobs:       []job{headsJob(heads, stores, core.cfg.AuditHeadInterval)},
				checks:     []health.Check{headsCheck(heads, core.cfg.AuditHeadInterval)},
				collectors: []prometheus.Collector{headMetrics(heads.Unsigned)},
			}, nil
		},
	}
}

// erasureStores returns the counts of a closed account's remaining data.
func erasureStores(
	core *coreParts, stores *storeParts, wordTimes *wordtimes.Store, records *commands.Audit,
) commands.Stores {
	return commands.Stores{
		KeyDestroyed: core.keys.ErasedAt,
		Left: func(ctx context.Context, account string, until time.Time) ([]commands.Left, error) {
			saved, err := clips.Owned{Models: core.projector}.Count(ctx, account)
			if err != nil {
				return nil, err
			}
			voices, err := records.Voices(ctx, account)
			if err != nil {
				return nil, err
			}
			var left int64
			for _, id := range voices {
				count, err := countBlobs(ctx, stores.blobs, blobs.Owner(voice.Stream(id)))
				if err != nil {
					return nil, err
				}
				left += count
			}
			times, err := wordTimes.Count(ctx, account, until)
			if err != nil {
				return nil, err
			}
			variables, err := records.Variables(ctx, account)
			if err != nil {
				return nil, err
			}
			return []commands.Left{
				{What: "its clips", Count: saved}, {What: "recordings and models of its voices", Count: left},
				{What: "word times of its replies", Count: times}, {What: "its API keys at the hosting platform", Count: variables},
			}, nil
		},
	}
}

func countBlobs(ctx context.Context, store blobs.Store, owner blobs.Owner) (count int64, err error) {
	for _, err := range store.List(ctx, owner.Prefix()) {
		if err != nil {
			return 0, fmt.Errorf("looking for blobs: %w", err)
		}
		count++
	}
	return count, nil
}

// chainSource is the source of alerts about the audit chain, and the name of its leader lock.
const chainSource = "audit/chain"

// auditHeads returns the signer of heads of the audit chain.
func auditHeads(core *coreParts, raised *alerts.Alerts) *commands.Heads {
	core.metrics.expectAlert(chainSource, alert.ChainBroken)
	return commands.NewHeads(commands.HeadsConfig{
		Journal: core.journal, Log: core.identity.LogID.String(), Key: core.secrets.audit, Every: eventsPerHead,
		Now: time.Now, Logger: core.log,
		Mismatch: func(_ context.Context, f chain.Finding) {
			raised.RaiseLater(alerts.Occasion{
				Source: chainSource, Subject: strconv.FormatUint(f.Head, 10), Reason: alert.ChainBroken,
				Detail: f.String(), At: time.Now(),
			})
		},
	})
}

// eventsPerHead is the number of events between signed heads. With fewer, a change is located more exactly.
const eventsPerHead = 1000

// headsJob returns the job that signs heads, in one instance.
func headsJob(heads *commands.Heads, stores *storeParts, every time.Duration) job {
	return job{
		name: "the heads of the audit chain", every: every,
		run: func(ctx context.Context) error {
			select {
			case <-stores.database:
			case <-ctx.Done():
				return nil
			}
			leads, err := stores.locks.TryAcquire(ctx, chainSource)
			if err != nil || !leads {
				heads.Rest()
				return err
			}
			return heads.Run(ctx)
		},
	}
}

// unsignedCounted is the maximum number of unsigned events that the doctor counts.
const unsignedCounted = 10_000

// headsCheck returns the check that events are signed soon.
func headsCheck(heads *commands.Heads, interval time.Duration) health.Check {
	look := func(ctx context.Context) health.Finding {
		u, err := heads.Unsigned(ctx, unsignedCounted)
		if err != nil {
			return health.Broken(err.Error(),
				"see to the event store first; if it answers, recitalctl audit verify says what was changed in the log")
		}
		return ofHeads(u, interval, time.Now())
	}
	return health.Check{Name: "the audit chain is signed", Rules: []string{"RecitalEventsUnsigned"}, Look: look}
}

func ofHeads(u commands.Unsigned, interval time.Duration, now time.Time) health.Finding {
	f := health.Sound("there is no head yet")
	if u.Head.Count > 0 {
		f = health.Sound("the last head is %s old and speaks of %d events",
			now.Sub(u.Head.At).Round(time.Second), u.Head.Count)
	}
	if u.Events == 0 {
		return f
	}
	count := strconv.Itoa(u.Events)
	if u.Events == unsignedCounted {
		count += " or more"
	}
	age := now.Sub(u.Oldest)
	f.Found += fmt.Sprintf("; events since: %s, the oldest %s old", count, age.Round(time.Second))
	if age > 2*interval+time.Minute {
		return f.But(health.Warning, "one instance signs, once Postgres answers; "+
			"if events since do not become fewer, its log says why (the heads of the audit chain). "+
			"What is not signed is not protected: recitalctl audit verify checks the rest")
	}
	return f
}

// headMetrics are gauges of the last head, the same on every instance. They are omitted if the log does not answer.
func headMetrics(unsigned func(context.Context, int) (commands.Unsigned, error)) prometheus.Collector {
	last := newRecent(func(ctx context.Context) (commands.Unsigned, error) { return unsigned(ctx, 1) })
	return scraped(func() []prometheus.Metric {
		u, known := last.get()
		if !known {
			return nil
		}
		return []prometheus.Metric{
			gauge("recital_audit_head_events",
				"Events that the last signed head of the audit chain speaks of; 0 before the first.", u.Head.Count),
			gauge("recital_audit_head_age_seconds", "Age of the last signed head of the audit chain; 0 before the first.",
				ageAt(time.Now(), u.Head.At)),
			gauge("recital_audit_unsigned_age_seconds",
				"Age of the oldest event that no signed head of the audit chain speaks of; 0 if there is none.",
				ageAt(time.Now(), u.Oldest)),
		}
	})
}

// ageAt returns the seconds since a time, or 0 for none. Clocks may differ.
func ageAt(now, at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return max(0, now.Sub(at).Seconds())
}
