package hosting_test

import (
	"testing"
	"time"

	commands "github.com/recital-tts/recital/commands/hosting"
	"github.com/recital-tts/recital/domain/hosting"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	eventtest.Golden(t, commands.Events(),
		eventtest.Of("hosting-connected", 1, hosting.Connected{
			Account: "a1", Config: "icfg_1", Installation: "icfg_1", Team: "team_1", Token: []byte("sealed"), Code: "9f86d081",
			At: noon,
		}),
		eventtest.Of("hosting-variable-begun", 1, hosting.VariableBegun{
			Account: "a1", Config: "icfg_1", Project: "prj_1", SealedName: []byte("\x01name"), Hash: "c0ffee",
			Masked: "rk_abcd****wxyz", At: noon,
		}),
		eventtest.Of("hosting-variable-set", 1, hosting.VariableSet{Account: "a1", Hash: "c0ffee", Variable: "env_1",
			At: noon}),
		eventtest.Of("hosting-variable-removal-begun", 1, hosting.VariableRemovalBegun{Account: "a1", Hash: "c0ffee",
			At: noon}),
		eventtest.Of("hosting-variable-removed", 1, hosting.VariableRemoved{Account: "a1", Hash: "c0ffee", Left: true,
			At: noon}),
		eventtest.Of("hosting-ended", 1, hosting.Ended{Account: "a1", At: noon}),
	)
}
