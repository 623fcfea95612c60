package audit

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/recital-tts/recital/domain"
)

// HeadStream is where the heads of the chain are kept. They are in the chain themselves.
const HeadStream = "audit-heads"

// Head is a signed statement about the log: what its first Count events were. The hash is that of package chain.
type Head struct {
	Log       string    `json:"log"`     // id
	Count     uint64    `json:"count"`   // of our events, up to and with Last
	Hash      string    `json:"hash"`    // hex
	Streams   int       `json:"streams"` // version of the list of streams that the events after the head before are from
	Last      LastEvent `json:"last"`
	At        time.Time `json:"at"`
	Key       string    `json:"key"`       // public, hex
	Signature string    `json:"signature"` // of the statement, hex
}

// LastEvent is the last event that a head speaks of.
type LastEvent struct {
	ID       string `json:"id"`
	Stream   string `json:"stream"`
	Revision uint64 `json:"revision"`
}

func (Head) auditEvent() {}

// Statement is the text that is signed.
func (h Head) Statement() []byte {
	return fmt.Appendf(nil, "recital audit head 1\nlog %q\ncount %d\nhash %q\nstreams %d\nlast %q %d %q\nat %s\n",
		h.Log, h.Count, h.Hash, h.Streams, h.Last.ID, h.Last.Revision, h.Last.Stream, h.At.UTC().Format(time.RFC3339Nano))
}

// Sign returns the head with its signature and the key that proves it.
func (h Head) Sign(key ed25519.PrivateKey) Head {
	h.At = h.At.UTC()
	h.Key = hex.EncodeToString(key[ed25519.SeedSize:]) // RFC 8032: the seed, then the public key
	h.Signature = hex.EncodeToString(ed25519.Sign(key, h.Statement()))
	return h
}

// Signed reports whether the signature is that of the key which the head names. Whether that key is to be trusted is
// for the caller to say.
func (h Head) Signed() bool {
	key, err := hex.DecodeString(h.Key)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return false
	}
	signature, err := hex.DecodeString(h.Signature)
	return err == nil && ed25519.Verify(key, h.Statement(), signature)
}

// HeadState is the state of the stream of heads: the last one, zero before the first.
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

// Decide refuses a head that was not counted from the last one: another instance has signed one in the meantime.
func (c AppendHead) Decide(s HeadState) ([]Event, error) {
	switch {
	case s.Last.Signature == c.Head.Signature:
		return nil, nil
	case s.Last.Count != c.After || c.Head.Count <= c.After:
		return nil, domain.Refuse(domain.Conflict, "Another head was signed in the meantime")
	}
	return []Event{c.Head}, nil
}
