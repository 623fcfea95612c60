package alerts_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	commands "github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/events/readmodel"
	projections "github.com/recital-tts/recital/projections/alerts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReleasedReadModels(t *testing.T) {
	feedtest.RequireReleased(t, projections.ReadModels()...)
}

func TestAnAlertIsShownWhileItIsOpen(t *testing.T) {
	type row = readmodel.AlertRow
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	w := feedtest.New(t, feedtest.Registry(t, commands.Events()), projections.ReadModels()...)
	shown := func() []row {
		t.Helper()
		return feedtest.Rows[row](t, w,
			`select alert_id, source, subject, reason, since, lasting from read_v1.alerts order by 1`)
	}
	gaveUp := row{Alert: "a1", Source: "todo/expiry", Subject: "r1", Reason: "gave_up", Since: noon}
	full := row{Alert: "c1", Source: "disk", Subject: "host:/data", Reason: "disk_full", Since: noon, Lasting: true}
	raised := func(id string) alert.Raised {
		return alert.Raised{Alert: id, Source: "todo/expiry", Subject: "r1", Reason: alert.GaveUp, At: noon}
	}
	holds := func(id string) alert.ConditionRaised {
		return alert.ConditionRaised{Alert: id, Source: "disk", Subject: "host:/data", Reason: alert.DiskFull, At: noon}
	}

	revision := w.Append(t, alert.Stream, eventlog.NoStream, raised("a1"), raised("a2"))
	second := gaveUp
	second.Alert = "a2"
	require.Equal(t, []row{gaveUp, second}, shown())
	w.Append(t, alert.Stream, revision, alert.Cleared{Alert: "a2", At: noon})
	require.Equal(t, []row{gaveUp}, shown())

	revision = w.Append(t, alert.ConditionPrefix+"1", eventlog.NoStream, holds("c1"))
	require.Equal(t, []row{gaveUp, full}, shown())
	revision = w.Append(t, alert.ConditionPrefix+"1", revision, alert.ConditionCleared{Alert: "c1", At: noon})
	require.Equal(t, []row{gaveUp}, shown())
	w.Append(t, alert.ConditionPrefix+"1", revision, holds("c2"))
	full.Alert = "c2"
	require.Equal(t, []row{gaveUp, full}, shown())
}
