// Package chain is the hash chain over our events in log order, and the check of a log against signed heads. Each
// event's hash includes the one before it, so a head that names the hash of the last event speaks of all of them.
//
// What a head proves, to somebody who has kept it: none of the events up to it was altered, removed, added or reordered
// since it was signed. It says nothing about the events after it, about what was in the log before it was signed, or
// about events of streams that are not ours. An event is its id, stream, revision, type, data and metadata, which holds
// our time and who did it; its position and the store's own time are not part of it, because a copy of the log has
// others.
package chain

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// State is how far a chain is: the number of its events, and the hash of the last one.
type State struct {
	Count uint64
	Hash  Hash
}

// Hash is a SHA-256.
type Hash [sha256.Size]byte

// String returns hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText returns hex digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText parses hex digits.
func (h *Hash) UnmarshalText(text []byte) error {
	return decodeHex(h[:], string(text))
}

// Start returns the state before the first event.
func Start() State { return State{Hash: sha256.Sum256([]byte("recital audit chain 1"))} }

// Hasher adds events to a state. It is not safe for concurrent use.
type Hasher struct {
	State
	event []byte // kept between events
}

// Add adds an event: its hash is SHA-256(hash before || id || stream || revision || type || data || metadata). The id
// has 16 bytes, the revision 8, and every text its length in 8 before it, big-endian, so that no two events have the
// same bytes.
func (h *Hasher) Add(e eventlog.Recorded) {
	b := append(h.event[:0], h.Hash[:]...)
	b = append(b, e.ID[:]...)
	b = appendText(b, e.Stream)
	b = binary.BigEndian.AppendUint64(b, e.Revision)
	b = appendText(b, e.Type)
	b = appendText(b, e.Data)
	h.event = appendText(b, e.Metadata)
	h.Hash = sha256.Sum256(h.event)
	h.Count++
}

func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(text))), text...)
}
