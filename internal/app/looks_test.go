package app

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	commands "github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/process/health"
)

func TestTheDoctorWarnsOfUnsignedEvents(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)
	head := audit.Head{Count: 70, At: now.Add(-48 * time.Hour)}
	for name, c := range map[string]struct {
		unsigned commands.Unsigned
		state    health.State
		found    string
	}{
		"an empty log": {commands.Unsigned{}, health.OK, "there is no head yet"},
		"a log without new events": {commands.Unsigned{Head: head}, health.OK,
			"the last head is 48h0m0s old and speaks of 70 events"},
		"events since a moment": {
			commands.Unsigned{Head: head, Events: 3, Oldest: now.Add(-11 * time.Minute)}, health.OK,
			"the last head is 48h0m0s old and speaks of 70 events; events since: 3, the oldest 11m0s old"},
		"events for longer than two heads": {
			commands.Unsigned{Head: head, Events: unsignedCounted, Oldest: now.Add(-12 * time.Minute)}, health.Warning,
			"the last head is 48h0m0s old and speaks of 70 events; events since: 10000 or more, the oldest 12m0s old"},
		"no head at all": {
			commands.Unsigned{Events: 9, Oldest: now.Add(-time.Hour)}, health.Warning,
			"there is no head yet; events since: 9, the oldest 1h0m0s old"},
	} {
		got := ofHeads(c.unsigned, 5*time.Minute, now)
		require.Equal(t, c.state, got.State, name)
		require.Equal(t, c.found, got.Found, name)
		require.Equal(t, c.state == health.OK, got.Advice == "", name)
	}
}

// A full disk of the embedded node is detected before an append fails.
func TestADiskThatIsTooFullForAppendsIsLacking(t *testing.T) {
	t.Parallel()
	p := &App{}
	for free, lacks := range map[uint64]bool{0: false, eventnode.SpaceReserve - 1: true, eventnode.SpaceReserve: false} {
		p.nodeStats = func() eventnode.Stats { return eventnode.Stats{FreeBytes: free} }
		p.lookForRoom()
		require.Equal(t, lacks, p.readiness.noRoom.Load(), free)
	}
}

func TestTheDoctorShowsHowFarTheNodesVerificationIs(t *testing.T) {
	t.Parallel()
	p := &App{}
	require.Equal(t, health.Sound("none is embedded"), p.lookAtNode(t.Context()))
	stats := eventnode.Stats{LogBytes: 9 << 30, ToVerify: 8 << 30, Verified: 2 << 30}
	p.nodeStats = func() eventnode.Stats { return stats }
	got := p.lookAtNode(t.Context())
	require.Equal(t, health.Warning, got.State)
	require.Equal(t, "2048 of 8192 MiB are verified", got.Found)
	require.NotEmpty(t, got.Advice)
	stats.Verified = stats.ToVerify
	require.Equal(t, health.Sound("all that was there at the start is verified, 8192 MiB"), p.lookAtNode(t.Context()))
}
