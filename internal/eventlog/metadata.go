package eventlog

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Metadata is what is kept beside an event. $correlationId and $causationId are the names that EventStoreDB knows.
type Metadata struct {
	CorrelationID uuid.UUID `json:"$correlationId,omitzero"` // of the request or process that it all belongs to
	CausationID   uuid.UUID `json:"$causationId,omitzero"`   // the event or message that led to the command
	CommandID     uuid.UUID `json:"commandId,omitzero"`      // Encode sets it
	Actor         Actor     `json:"actor"`
	Version       int       `json:"v"`    // schema version of the event's data, from 1; Encode sets it
	Time          time.Time `json:"time"` // the command's time, UTC
}

// Actor is who gave the command.
type Actor struct {
	Kind    ActorKind `json:"kind"`
	Account string    `json:"account,omitempty"` // account id
	Key     string    `json:"key,omitempty"`     // masked form of the API key
	Session string    `json:"session,omitempty"` // public id of the session
}

// ActorKind tells accounts, operators and the system itself apart.
type ActorKind string

// The kinds of actors.
const (
	ActorAccount  ActorKind = "account"
	ActorOperator ActorKind = "operator"
	ActorSystem   ActorKind = "system"
)

func (k ActorKind) known() bool {
	return k == ActorAccount || k == ActorOperator || k == ActorSystem
}

// forWriting fills in what Encode owns and refuses what would make the event unexplainable later.
func (m Metadata) forWriting(command uuid.UUID) (Metadata, error) {
	switch {
	case command == uuid.Nil:
		return m, fmt.Errorf("metadata needs a command id")
	case m.CommandID != uuid.Nil && m.CommandID != command:
		return m, fmt.Errorf("metadata names another command")
	case m.Time.IsZero():
		return m, fmt.Errorf("metadata needs the command's time")
	case !m.Actor.Kind.known():
		return m, fmt.Errorf("metadata needs an actor: account, operator or system")
	}
	m.CommandID = command
	m.Time = m.Time.UTC()
	return m, nil
}

// parseMetadata reads what Encode wrote. Fields that this binary does not know are left out.
func parseMetadata(raw []byte) (Metadata, error) {
	if m, ok := parseCanonical(raw); ok {
		return m, nil
	}
	return parseAnyMetadata(raw)
}

func parseAnyMetadata(raw []byte) (Metadata, error) {
	if err := requireObject(raw); err != nil {
		return Metadata{}, err
	}
	var m Metadata
	if err := json.Unmarshal(raw, &m); err != nil {
		return Metadata{}, withoutValues(err)
	}
	if m.Version < 1 {
		return Metadata{}, fmt.Errorf("the schema version is missing")
	}
	m.Time = m.Time.UTC()
	return m, nil
}
