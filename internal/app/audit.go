package app

import (
	"slices"
	"time"

	commands "github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/process/health"
	projections "github.com/recital-tts/recital/projections/audit"
	readapi "github.com/recital-tts/recital/readapi/audit"
	"github.com/recital-tts/recital/writeapi"
	writeaudit "github.com/recital-tts/recital/writeapi/audit"
)

// auditSlice is that of what auditors ask.
func auditSlice() slice {
	return slice{
		name:       "audit",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func(p *parts) (service, error) {
			desk := commands.New(p.journal, time.Now)
			var kinds []string
			for _, one := range p.journal.Registry.Types() {
				kinds = append(kinds, one.Name())
			}
			read := readapi.API{
				Models: p.projector, Keys: p.keys, EmailHash: p.accounts.EmailHash, Kinds: kinds,
				Record: func(call *web.Call, asked readapi.Query, count int, reason string) error {
					_, err := desk.RecordRead(call, audit.Query(asked), count, reason, writeapi.Origin(call.Caller))
					return err
				},
			}
			p.acts = &writeaudit.Acts{Audit: desk, Log: p.log, Now: time.Now}
			write := writeaudit.API{Audit: desk, Now: time.Now}
			p.heads = p.auditHeads()
			p.metrics.registry.MustRegister(newHeadsGauge(p.heads.Unsigned))
			chain, erasures := writeaudit.Chain{Heads: p.heads}, writeaudit.Erasures{Audit: desk, Stores: p.erasureStores(desk)}
			return service{
				admin:  slices.Concat(read.AdminRoutes(), write.AdminRoutes(), chain.AdminRoutes(), erasures.AdminRoutes()),
				jobs:   []job{p.headsJob(p.heads)},
				checks: []health.Check{{Name: "the audit chain is signed", Look: p.lookAtHeads, Rules: []string{"RecitalEventsUnsigned"}}},
			}, nil
		},
	}
}
