package logcopy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// A record is the protocol's own form of an event. Those with types of the event store itself ("$…"), which are never
// copied, frame the events.
type record = streams.ReadResp_ReadEvent_RecordedEvent

const (
	headerType = "$header"
	idleType   = "$idle" // says that nothing has happened, and that the stream is alive
	endType    = "$end"
)

// The keys and values of the protocol's metadata.
const (
	typeKey, contentTypeKey, createdKey = "type", "content-type", "created"

	jsonContent, binaryContent = "application/json", "application/octet-stream"
)

const tick = 100 * time.Nanosecond // of the protocol's times

func recordOf(event eventlog.Recorded) *record {
	content := jsonContent
	if event.Binary {
		content = binaryContent
	}
	return &record{
		Id:               &shared.UUID{Value: &shared.UUID_String_{String_: event.ID.String()}},
		StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(event.Stream)},
		StreamRevision:   event.Revision,
		CommitPosition:   event.Position.Commit,
		PreparePosition:  event.Position.Prepare,
		Metadata: map[string]string{
			typeKey: event.Type, contentTypeKey: content, createdKey: strconv.FormatInt(ticks(event.Created), 10),
		},
		Data:           event.Data,
		CustomMetadata: event.Metadata,
	}
}

func eventOf(r *record) (eventlog.Recorded, error) {
	id, err := uuid.Parse(r.GetId().GetString_())
	if err != nil {
		return eventlog.Recorded{}, errors.New("an event has no id")
	}
	kind, stream := r.Metadata[typeKey], string(r.GetStreamIdentifier().GetStreamName())
	if kind == "" || strings.HasPrefix(kind, "$") || stream == "" {
		return eventlog.Recorded{}, fmt.Errorf("event %s has no type or no stream", id)
	}
	created, err := strconv.ParseInt(r.Metadata[createdKey], 10, 64)
	if err != nil {
		return eventlog.Recorded{}, fmt.Errorf("event %s has no time", id)
	}
	content := r.Metadata[contentTypeKey]
	if content != jsonContent && content != binaryContent {
		return eventlog.Recorded{}, fmt.Errorf("event %s has no known content type", id)
	}
	return eventlog.Recorded{
		ID:       id,
		Stream:   stream,
		Revision: r.StreamRevision,
		Position: eventlog.Position{Commit: r.CommitPosition, Prepare: r.PreparePosition},
		Type:     kind,
		Data:     r.Data,
		Metadata: r.CustomMetadata,
		Binary:   content == binaryContent,
		Created:  time.Unix(created/int64(time.Second/tick), created%int64(time.Second/tick)*int64(tick)).UTC(),
	}, nil
}

// ticks counts from the Unix epoch. In nanoseconds it would not hold all times.
func ticks(t time.Time) int64 {
	return t.Unix()*int64(time.Second/tick) + int64(t.Nanosecond())/int64(tick)
}
