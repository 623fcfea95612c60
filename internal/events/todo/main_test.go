package todo_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what is waited for on a machine that is busy; nothing is timed.
const patience = time.Minute
