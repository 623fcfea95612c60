package pages

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Metadata keys of a message. A message of several events has the keys of its last one.
const (
	MetadataType     = "recital-type"
	MetadataStream   = "recital-stream"
	MetadataRevision = "recital-revision"
	MetadataPosition = "recital-position"
)

type pageKey struct{}

// From is the page that a message carries in its context. message.Copy drops it; CopyWithContext keeps it.
func From(ctx context.Context) (Page, bool) {
	page, ok := ctx.Value(pageKey{}).(Page)
	return page, ok
}

// newMessage wraps a page. Its id is that of the page's last event. The payload of a page of one event is the event's
// data; with plain, the text fields of the event's metadata are among the message's as well.
func newMessage(ctx context.Context, page Page, plain bool) *message.Message {
	ctx = context.WithValue(ctx, pageKey{}, page)
	last := page.Events[len(page.Events)-1].Recorded
	msg := message.NewMessageWithContext(ctx, last.ID.String(), nil)
	if len(page.Events) == 1 {
		msg.Payload = last.Data
	}
	if plain {
		copyMetadata(msg.Metadata, last)
	}
	msg.Metadata.Set(MetadataType, last.Type)
	msg.Metadata.Set(MetadataStream, last.Stream)
	msg.Metadata.Set(MetadataRevision, strconv.FormatUint(last.Revision, 10))
	msg.Metadata.Set(MetadataPosition, last.Position.String())
	return msg
}

func copyMetadata(metadata message.Metadata, event eventlog.Recorded) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(event.Metadata, &fields) != nil {
		return // metadata need not be JSON
	}
	for name, raw := range fields {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			metadata.Set(name, text)
		}
	}
}
