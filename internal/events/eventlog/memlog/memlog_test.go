package memlog_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/logtest"
	"github.com/recital-tts/recital/internal/events/eventlog/memlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	logtest.Run(t, func(*testing.T) eventlog.Log { return memlog.New() })
}
