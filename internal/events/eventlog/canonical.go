package eventlog

import (
	"bytes"
	"encoding/base64"
	"time"

	"github.com/google/uuid"
)

// parseCanonical parses metadata in the exact form that Encode writes. Nearly all metadata has this form, and
// encoding/json would take longer for it than for the event's data. It returns false for any other form, valid or not.
// If it returns true, encoding/json parses the same value.
func parseCanonical(raw []byte) (Metadata, bool) {
	r := canonicalReader{rest: raw}
	var m Metadata
	r.take(`{`)
	r.member(`"$correlationId":`, &m.CorrelationID)
	r.id(`"$causationId":`, &m.CausationID)
	r.id(`"commandId":`, &m.CommandID)
	r.take(`"actor":{"kind":`)
	m.Actor.Kind = knownKind(r.text())
	r.optional(`,"name":`, &m.Actor.Name)
	r.optional(`,"role":`, &m.Actor.Role)
	r.optional(`,"address":`, &m.Actor.Address)
	r.optional(`,"reason":`, &m.Actor.Reason)
	r.optional(`,"account":`, &m.Actor.Account)
	r.optional(`,"key":`, &m.Actor.Key)
	r.optional(`,"session":`, &m.Actor.Session)
	r.take(`},"v":`)
	m.Version = r.number()
	r.take(`,"time":`)
	m.Time = r.moment()
	if r.has(`,"from":`) {
		m.From = r.bytes()
	}
	r.take(`}`)
	return m, !r.failed && len(r.rest) == 0
}

// canonicalReader consumes JSON from the start of rest. After a failure its methods have no effect.
type canonicalReader struct {
	rest   []byte
	failed bool
}

func (r *canonicalReader) has(prefix string) bool {
	if len(r.rest) < len(prefix) || string(r.rest[:len(prefix)]) != prefix {
		return false
	}
	r.rest = r.rest[len(prefix):]
	return true
}

func (r *canonicalReader) take(piece string) { r.failed = !r.has(piece) || r.failed }

// text reads a string without escapes. The result shares memory with the input.
func (r *canonicalReader) text() []byte {
	r.take(`"`)
	end := bytes.IndexByte(r.rest, '"')
	if end < 0 {
		r.failed = true
		return nil
	}
	text := r.rest[:end]
	r.rest = r.rest[end+1:]
	for _, c := range text {
		if c < ' ' || c > '~' || c == '\\' {
			r.failed = true
		}
	}
	return text
}

func (r *canonicalReader) optional(name string, to *string) {
	if r.has(name) {
		*to = string(r.text())
	}
}

// member reads a member with a string value and the comma after it, if the member is present.
func (r *canonicalReader) member(name string, to *string) {
	if !r.has(name) {
		return
	}
	*to = string(r.text())
	r.failed = r.failed || *to == ""
	r.take(`,`)
}

// id reads a member with an id and the comma after it, if the member is present.
func (r *canonicalReader) id(name string, to *uuid.UUID) {
	const length = 36 // with hyphens
	if !r.has(name) {
		return
	}
	text := r.text()
	id, err := uuid.ParseBytes(text)
	r.failed = r.failed || err != nil || len(text) != length
	r.take(`,`)
	*to = id
}

// bytes reads one or more bytes in base64.
func (r *canonicalReader) bytes() []byte {
	decoded, err := base64.StdEncoding.AppendDecode(nil, r.text())
	r.failed = r.failed || err != nil || len(decoded) == 0
	return decoded
}

// number reads a positive integer.
func (r *canonicalReader) number() int {
	const maxDigits = 9 // cannot overflow an int
	number, digits := 0, 0
	for digits < min(len(r.rest), maxDigits) && '0' <= r.rest[digits] && r.rest[digits] <= '9' {
		number = 10*number + int(r.rest[digits]-'0')
		digits++
	}
	r.failed = r.failed || digits == 0 || r.rest[0] == '0'
	r.rest = r.rest[digits:]
	return number
}

func (r *canonicalReader) moment() time.Time {
	var t time.Time
	if err := t.UnmarshalText(r.text()); err != nil { // as strict as encoding/json
		r.failed = true
	}
	return t.UTC()
}

// knownKind returns the constant for a known kind, to avoid an allocation.
func knownKind(text []byte) ActorKind {
	switch kind := ActorKind(text); {
	case kind == ActorAccount:
		return ActorAccount
	case kind == ActorOperator:
		return ActorOperator
	case kind == ActorSystem:
		return ActorSystem
	default:
		return kind
	}
}
