package audit

import (
	"context"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// RecordAct records that the origin's actor is about to change or copy a subject. The act must not begin before
// RecordAct has returned.
func (a *Audit) RecordAct(ctx context.Context, kind, subject string, origin journal.Origin) (eventlog.Position, error) {
	command, at := uuid.New(), a.now().UTC()
	id := command.String()
	stream := journal.Stream[audit.ActState, audit.Event]{Name: audit.ActStream(id), Evolve: audit.EvolveAct, New: true}
	record := audit.RecordAct{Act: id, Kind: kind, Subject: subject, At: at}
	_, position, err := journal.Execute(ctx, a.journal, stream, record, origin.Metadata(command, at))
	return position, err
}
