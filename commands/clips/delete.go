package clips

import (
	"context"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/blobs"
	"github.com/recital-tts/recital/internal/eventlog"
)

// Delete deletes a clip of an account, and its audio. The id may be any text from a client. The error has the code
// domain.NotFound if the account has no such clip. Audio that cannot be removed now is left to Sweep.
func (c *Clips) Delete(ctx context.Context, id, account string, origin journal.Origin) (eventlog.Position, error) {
	if !clip.ValidID(id) {
		return eventlog.Position{}, domain.Refuse(domain.NotFound, "There is no such clip")
	}
	at := c.now().UTC()
	deleted, position, err := journal.Execute(ctx, c.journal, stream(id), clip.Delete{Clip: id, Account: account, At: at}, origin.Metadata(uuid.New(), at))
	if err != nil {
		return eventlog.Position{}, err
	}
	if err := c.blobs.Delete(context.WithoutCancel(ctx), blobs.Address(deleted.Blob)); err != nil {
		c.log.WarnContext(ctx, "a deleted clip's audio is left for the sweep", "error", err)
	}
	return position, nil
}
