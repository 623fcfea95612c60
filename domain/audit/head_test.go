package audit_test

import (
	"bytes"
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/domain/spec"
)

func signedHead(count uint64) audit.Head {
	return audit.Head{
		Log: "l1", Count: count, Hash: "00ff", Streams: 1, Last: audit.LastEvent{ID: "e1", Stream: "account-a1", Revision: 4},
		At: time.Date(2026, 11, 22, 12, 0, 0, 5, time.UTC),
	}.Sign(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize)))
}

func TestHeadsOfAChain(t *testing.T) {
	type events = []audit.Event
	spec.Run(t, audit.EvolveHeads, []spec.Case[audit.HeadState, audit.Event]{
		{Name: "the first", When: audit.AppendHead{Head: signedHead(3)}, Then: events{signedHead(3)}},
		{Name: "the next", Given: events{signedHead(3)}, When: audit.AppendHead{Head: signedHead(5), After: 3},
			Then: events{signedHead(5)}},
		{Name: "one again", Given: events{signedHead(3)}, When: audit.AppendHead{Head: signedHead(3)}},
		{Name: "one that another instance was faster than", Given: events{signedHead(3), signedHead(5)},
			When: audit.AppendHead{Head: signedHead(6), After: 3}, Refused: domain.Conflict},
		{Name: "one that says nothing new", Given: events{signedHead(3)},
			When: audit.AppendHead{Head: signedHead(2), After: 3}, Refused: domain.Conflict},
	})
}

// The signature covers every field of a head.
func TestASignatureIsThatOfTheWholeHead(t *testing.T) {
	require.True(t, signedHead(3).Signed())
	for name, change := range map[string]func(*audit.Head){
		"log":           func(h *audit.Head) { h.Log = "l2" },
		"count":         func(h *audit.Head) { h.Count++ },
		"hash":          func(h *audit.Head) { h.Hash = "00fe" },
		"streams":       func(h *audit.Head) { h.Streams++ },
		"last event":    func(h *audit.Head) { h.Last.ID = "e2" },
		"last stream":   func(h *audit.Head) { h.Last.Stream = "account-a2" },
		"last revision": func(h *audit.Head) { h.Last.Revision++ },
		"time":          func(h *audit.Head) { h.At = h.At.Add(1) },
		"no signature":  func(h *audit.Head) { h.Signature = "" },
		"no key":        func(h *audit.Head) { h.Key = "" },
		"a short key":   func(h *audit.Head) { h.Key = h.Key[2:] },
		"another key": func(h *audit.Head) {
			h.Key = h.Sign(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))).Key
		},
	} {
		head := signedHead(3)
		change(&head)
		require.False(t, head.Signed(), name)
	}
}
