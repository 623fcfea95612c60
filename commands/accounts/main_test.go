package accounts_test

import (
	"testing"

	"github.com/recital-tts/recital/commands/commandstest"
)

// world is a log with the operations of these tests.
type world struct{ *commandstest.World }

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{commandstest.New(t)}
}
