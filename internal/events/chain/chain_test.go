package chain_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/chain"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Heads were signed over these hashes, so they never change. The bytes are spelled out, independently of the package.
func TestTheHashOfAnEvent(t *testing.T) {
	start := sha256.Sum256([]byte("recital audit chain 1"))
	bytes := hex.EncodeToString(start[:]) + "0190b0c0111170008000" + "00000000000a" +
		"000000000000000a" + hex.EncodeToString([]byte("account-a1")) +
		"0000000000000102" +
		"000000000000000e" + hex.EncodeToString([]byte("account-opened")) +
		"0000000000000002" + "7b7d" +
		"0000000000000007" + hex.EncodeToString([]byte(`{"v":1}`))
	raw, err := hex.DecodeString(bytes)
	require.NoError(t, err)

	hasher := chain.Hasher{State: chain.Start()}
	hasher.Add(eventlog.Recorded{
		ID: uuid.MustParse("0190b0c0-1111-7000-8000-00000000000a"), Stream: "account-a1", Revision: 0x102,
		Type: "account-opened",
		Data: []byte("{}"), Metadata: []byte(`{"v":1}`), Position: eventlog.Position{Commit: 9, Prepare: 9},
	})
	require.Equal(t, chain.State{Count: 1, Hash: sha256.Sum256(raw)}, hasher.State)
}

func TestAnUnknownListOfStreams(t *testing.T) {
	require.NotNil(t, chain.Streams(chain.Newest))
	require.Nil(t, chain.Streams(chain.Newest+1))
	require.Nil(t, chain.Streams(0))
}
