package s3_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/blobtest"
	"github.com/recital-tts/recital/internal/providers/blobs/s3"
	"github.com/recital-tts/recital/internal/providers/blobs/s3test"
)

// TestMain ignores goroutines that toxiproxy may leave when a connection is cut with data on its way.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/stream.(*ChanWriter).Write"))
}

const (
	owner blobs.Owner = "clip-0123456789abcdef"
	// patience bounds all waits, also on a busy machine.
	patience = time.Minute
)

// at returns the configuration for a server, or for a proxy in front of it.
func at(t testing.TB, address string) s3.Config {
	t.Helper()
	location, err := s3.ParseURL(s3test.URL(address, "tests"))
	require.NoError(t, err)
	return s3.Config{
		Location: location, Folder: strings.ToLower(t.Name()), AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey,
		Logger: slog.New(slog.DiscardHandler),
	}
}

func open(t testing.TB, config s3.Config) *s3.Store {
	t.Helper()
	store, err := s3.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func TestContract(t *testing.T) {
	server := s3test.Start(t)
	blobtest.Run(t, func(t *testing.T) blobs.Store { return open(t, at(t, server.Address())) })
}
