package accounts_test

import (
	"testing"

	"github.com/recital-tts/recital/commands/commandstest"
)

// world is what the tests here do with a log.
type world struct{ *commandstest.World }

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{commandstest.New(t)}
}
