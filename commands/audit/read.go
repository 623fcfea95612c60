package audit

import (
	"context"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// RecordRead records that the origin's actor is about to be shown personal data of count rows, for a reason. The data
// must not be shown before RecordRead has returned.
func (a *Audit) RecordRead(
	ctx context.Context, query audit.Query, count int, reason string, origin journal.Origin,
) (eventlog.Position, error) {
	command, at := uuid.New(), a.now().UTC()
	id := command.String()
	stream := journal.Stream[audit.ReadState, audit.Event]{Name: audit.ReadStream(id), Evolve: audit.EvolveRead, New: true}
	record := audit.RecordRead{Read: id, By: origin.Actor.Name, Reason: reason, Query: query, Count: count, At: at}
	_, position, err := journal.Execute(ctx, a.journal, stream, record, origin.Metadata(command, at))
	return position, err
}
