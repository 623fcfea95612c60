package main_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// standIns returns the process with the stand-ins, if it runs.
func (s *server) standIns() (found process, ok bool) {
	for _, p := range s.children() {
		if filepath.Base(p.args[0]) == "standins" {
			return p, true
		}
	}
	return process{}, false
}

func TestTheStandInsAreRestartedAndDieWithRecitald(t *testing.T) {
	t.Parallel()
	s := start(t, dataFolder(t), "--engines=1")
	first, ok := s.standIns()
	require.True(t, ok)

	// when the stand-ins crash, then they are restarted at the same address
	before := string(s.recitalctl("sandbox", "customers"))
	first.kill(t)
	s.eventually(func() bool {
		next, ok := s.standIns()
		return ok && next.pid != first.pid && len(s.products()) == 4
	})
	require.Equal(t, before, string(s.recitalctl("sandbox", "customers")))

	// when recitald is killed, then they end, too
	last, _ := s.standIns()
	s.kill()
	s.eventually(func() bool { return !last.lives() })
}
