package app

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/recital-tts/recital/commands/alerts"
	commands "github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/chain"
)

// chainSource is the source of alerts about the audit chain, and the name of its leader lock.
const chainSource = "audit/chain"

// auditHeads returns what signs heads of the audit chain.
func (p *parts) auditHeads() *commands.Heads {
	p.metrics.expectAlert(chainSource, alert.ChainBroken)
	return commands.NewHeads(commands.HeadsConfig{
		Journal: p.journal, Log: p.identity.LogID.String(), Key: p.secrets.audit, Every: uint64(cmp.Or(p.cfg.AuditHeadEvents, 1000)),
		Now: time.Now, Logger: p.log,
		Mismatch: func(_ context.Context, f chain.Finding) {
			p.alertQueue.Raise(alerts.Occasion{
				Source: chainSource, Subject: strconv.FormatUint(f.Head, 10), Reason: alert.ChainBroken, Detail: f.String(), At: time.Now(),
			})
		},
	})
}

// headsJob has one instance sign heads.
func (p *parts) headsJob(heads *commands.Heads) job {
	return job{
		name: "the heads of the audit chain", every: cmp.Or(p.cfg.AuditHeadInterval, 5*time.Minute),
		run: func(ctx context.Context) error {
			select {
			case <-p.database:
			case <-ctx.Done():
				return nil
			}
			leads, err := p.locks.TryAcquire(ctx, chainSource)
			if err != nil || !leads {
				heads.Rest()
				return err
			}
			return heads.Run(ctx)
		},
	}
}
