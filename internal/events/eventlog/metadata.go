package eventlog

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Metadata is stored with each event. $correlationId and $causationId are EventStoreDB's names.
type Metadata struct {
	// of the request (its header request-id) or of the process
	CorrelationID string    `json:"$correlationId,omitempty"`
	CausationID   uuid.UUID `json:"$causationId,omitzero"` // the event or message that caused the command
	CommandID     uuid.UUID `json:"commandId,omitzero"`    // set by Encode
	Actor         Actor     `json:"actor"`
	Version       int       `json:"v"`    // schema version of the event's data, from 1; set by Encode
	Time          time.Time `json:"time"` // the command's time, UTC
	// the address of the command's client, sealed with the key of the actor's account for FromUse
	From []byte `json:"from,omitempty"`
}

// FromUse returns the use that the address of a command's client is sealed for.
func FromUse(command uuid.UUID) string { return "command-from/" + command.String() }

// Actor identifies who issued the command.
type Actor struct {
	Kind ActorKind `json:"kind"`
	Name string    `json:"name,omitempty"` // of the operator or auditor
	// of an operator's token: operator or auditor; offline without a token, because recitald was stopped
	Role    string `json:"role,omitempty"`
	Address string `json:"address,omitempty"` // of the operator's machine
	Reason  string `json:"reason,omitempty"`  // of the operator, in their words
	Account string `json:"account,omitempty"` // account id
	Key     string `json:"key,omitempty"`     // masked form of the API key
	Session string `json:"session,omitempty"` // public id of the session
}

// ActorKind distinguishes accounts, operators and the system itself.
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

// forWriting sets the fields that Encode owns, and refuses metadata without the fields that explain an event.
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

// parseMetadata parses metadata that Encode wrote. It ignores unknown fields.
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
	if len(m.From) == 0 {
		m.From = nil
	}
	return m, nil
}
