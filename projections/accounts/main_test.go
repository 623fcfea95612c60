package accounts_test

import (
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	accountsevents "github.com/recital-tts/recital/commands/accounts"
	billingevents "github.com/recital-tts/recital/commands/billing"
	voicesevents "github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/projections/accounts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 3, 10, 12, 30, 15, 123_456_000, time.UTC)

var suite = feedtest.Suite{
	Events:      slices.Concat(accountsevents.Events(), billingevents.Events(), voicesevents.Events()),
	Projections: accounts.ReadModels(),
}

func TestReleasedReadModels(t *testing.T) { suite.RequireReleased(t) }
