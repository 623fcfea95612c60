package alerts

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	commands "github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/access/operators"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	projections "github.com/recital-tts/recital/projections/alerts"
)

func TestMain(m *testing.M) { webtest.Main(m) }

// keys authenticates every account by its id; the operator's account is "operator".
type keys struct{}

func (keys) APIKey(_ context.Context, key string) (web.Principal, error) {
	return web.Principal{Account: key, Key: "masked", Operator: key == "operator"}, nil
}

func ask(t *testing.T, url, header, value string) (status int, body string) {
	t.Helper()
	response, body := webtest.Send(t, http.MethodGet, url, "", header, value)
	return response.StatusCode, body
}

func TestTheDamageReport(t *testing.T) {
	w := feedtest.New(t, feedtest.Registry(t, commands.Events()), projections.ReadModels()...)
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	var found []alert.Open
	api := &API{Models: w.Projector, Found: func() []alert.Open { return found }}
	url := webtest.Serve(t, web.Config{
		Routes: append(api.Routes(), api.AdminRoutes()...), Authenticator: keys{},
		Tokens: []operators.Token{operators.Single("auditor", "au"), operators.Single("operator", "op")},
	})
	report := func() []string {
		t.Helper()
		status, body := ask(t, url+"/v1/damage_report", "x-api-key", "operator")
		require.Equal(t, http.StatusOK, status, body)
		var shown AlertingResponse
		require.NoError(t, json.Unmarshal([]byte(body), &shown))
		require.NotNil(t, shown.RedAlerts)
		return shown.RedAlerts
	}

	// the report is for operators
	status, body := ask(t, url+"/v1/damage_report", "x-api-key", "somebody")
	require.Equal(t, http.StatusForbidden, status, body)
	require.Empty(t, report())

	// it has the alerts of the log and this instance's further findings, oldest first, each once
	full := alert.Condition{Source: "disk", Subject: "host", Reason: alert.DiskFull}
	away := alert.Condition{Source: "postgres", Subject: "host", Reason: alert.Unreachable}
	w.Append(t, alert.ConditionPrefix+"1", eventlog.NoStream, alert.ConditionRaised{Alert: "c1", Source: full.Source,
		Subject: full.Subject, Reason: full.Reason, At: noon})
	w.Append(t, alert.Stream, eventlog.NoStream, alert.Raised{Alert: "a1", Source: "todo/expiry", Subject: "r1",
		Reason: alert.GaveUp, At: noon.Add(time.Minute)})
	found = []alert.Open{{Condition: away, Since: noon.Add(time.Hour), Lasting: true},
		{Condition: full, Since: noon, Lasting: true}}
	want := []string{
		"A disk is nearly full (host), since 2026-11-22 12:00:00 UTC",
		"Item r1 of the to-do list expiry has failed too often, and is tried only hourly, at 2026-11-22 12:01:00 UTC",
		"Postgres does not answer (found by host), since 2026-11-22 13:00:00 UTC",
	}
	require.Equal(t, want, report())
	status, body = ask(t, url+"/admin/alerts", "Authorization", "Bearer au")
	require.Equal(t, http.StatusOK, status, body)
	var listed adminapi.AlertsReply
	require.NoError(t, json.Unmarshal([]byte(body), &listed))
	require.Len(t, listed.Alerts, 3)
	require.Equal(t, adminapi.AlertInfo{
		ID: "c1", Source: "disk", Subject: "host", Reason: "disk_full", Since: noon, Lasting: true, Sentence: want[0],
		Advice: "Make room on the disk, or enlarge it. When it is full, the event store refuses events.",
	}, listed.Alerts[0])
	require.Empty(t, listed.Alerts[2].ID, "the log does not have it yet")

	// and if the read models cannot be read, it has the alerts of the last read
	_, err := w.Pool.Exec(t.Context(), `alter schema read_v1 rename to away`)
	require.NoError(t, err)
	require.Equal(t, want, report())
	found = nil
	require.Equal(t, want[:2], report())
}
