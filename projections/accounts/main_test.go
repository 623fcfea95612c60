package accounts_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/eventlog/catalog"
	"github.com/recital-tts/recital/internal/feed/feedtest"
	"github.com/recital-tts/recital/projections/accounts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 3, 10, 12, 30, 15, 123_456_000, time.UTC)

func newWorld(t testing.TB) *feedtest.World {
	t.Helper()
	registry, err := catalog.Registry()
	require.NoError(t, err)
	return feedtest.New(t, registry, accounts.ReadModels()...)
}
