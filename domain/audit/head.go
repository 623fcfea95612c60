package audit

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/recital-tts/recital/domain"
)

// HeadStream is the stream of the heads of the chain. They are in the chain themselves.
const HeadStream = "audit-heads"

// Head is a signed statement about the first Count events of the log. Package chain defines the hash.
type Head struct {
	Log       string    `json:"log"`     // id
	Count     uint64    `json:"count"`   // of our events, up to and including Last
	Hash      string    `json:"hash"`    // hex
	Streams   int       `json:"streams"` // version of the list of streams that the events after the previous head are from
	Last      LastEvent `json:"last"`
	At        time.Time `json:"at"`
	Key       string    `json:"key"`       // public, hex
	Signature string    `json:"signature"` // of the statement, hex
}

// LastEvent identifies the last event that a head covers.
type LastEvent struct {
	ID       string `json:"id"`
	Stream   string `json:"stream"`
	Revision uint64 `json:"revision"`
}

func (Head) auditEvent() {}

// Statement returns the signed text.
func (h Head) Statement() []byte {
	return fmt.Appendf(nil, "recital audit head 1\nlog %q\ncount %d\nhash %q\nstreams %d\nlast %q %d %q\nat %s\n",
		h.Log, h.Count, h.Hash, h.Streams, h.Last.ID, h.Last.Revision, h.Last.Stream, h.At.UTC().Format(time.RFC3339Nano))
}

// Sign returns the head with its signature and the public key.
func (h Head) Sign(key ed25519.PrivateKey) Head {
	h.At = h.At.UTC()
	h.Key = hex.EncodeToString(key[ed25519.SeedSize:]) // RFC 8032: the seed, then the public key
	h.Signature = hex.EncodeToString(ed25519.Sign(key, h.Statement()))
	return h
}

// Signed reports whether the signature was made with the key in the head. The caller decides whether that key is
// trusted.
func (h Head) Signed() bool {
	key, err := hex.DecodeString(h.Key)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return false
	}
	signature, err := hex.DecodeString(h.Signature)
	return err == nil && ed25519.Verify(key, h.Statement(), signature)
}

// HeadState is the state of the stream of heads: the last one, or the zero Head before the first.
type HeadState struct{ Last Head }

// EvolveHeads folds an event into the state.
func EvolveHeads(s HeadState, event Event) HeadState {
	if head, ok := event.(Head); ok {
		s.Last = head
	}
	return s
}

// AppendHead appends a head.
type AppendHead struct {
	Head  Head
	After uint64 // count of the head that the events were counted from
}

// Decide refuses a head that was not counted from the last one, because another instance has signed one in the
// meantime.
func (c AppendHead) Decide(s HeadState) ([]Event, error) {
	switch {
	case s.Last.Signature == c.Head.Signature:
		return nil, nil
	case s.Last.Count != c.After || c.Head.Count <= c.After:
		return nil, domain.Refuse(domain.Conflict, "Another head was signed in the meantime")
	}
	return []Event{c.Head}, nil
}
