package clips

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

// removeTimeout bounds the time for which a request waits for the store to delete a blob.
const removeTimeout = 5 * time.Second

// Delete deletes a clip of an account, and its audio. The id may be any text from a client. The error has the code
// domain.NotFound if the account has no such clip. If the audio cannot be removed now, Sweep removes it.
func (c *Clips) Delete(ctx context.Context, id, account string, origin journal.Origin) (eventlog.Position, error) {
	if !clip.ValidID(id) {
		return eventlog.Position{}, domain.Refuse(domain.NotFound, "There is no such clip")
	}
	at := c.now().UTC()
	deleted, position, err := journal.Execute(ctx, c.journal, stream(id), clip.Delete{Clip: id, Account: account, At: at},
		origin.Metadata(uuid.New(), at))
	if err != nil {
		return eventlog.Position{}, err
	}
	c.remove(ctx, blobs.Address(deleted.Blob))
	return position, nil
}

// remove deletes a blob that no clip refers to any more. If the store does not delete it in time, Sweep does.
func (c *Clips) remove(ctx context.Context, address blobs.Address) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	if err := c.blobs.Delete(ctx, address); err != nil {
		c.log.WarnContext(ctx, "a clip's former audio is left for the sweep", "error", err)
	}
}
