package alerts_test

import (
	"context"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	writeapi "github.com/recital-tts/recital/writeapi/alerts"
	"github.com/recital-tts/recital/writeapi/writetest"
)

func TestMain(m *testing.M) { webtest.Main(m) }

func TestAnOperatorClearsAnAlertByItsID(t *testing.T) {
	// given an open alert
	w := commandstest.New(t)
	all := alerts.New(w.Journal, slog.New(slog.DiscardHandler), func(string, alert.Reason) {})
	require.NoError(t, all.Raise(t.Context(), alerts.Occasion{Source: "todo/dunning", Subject: "acc", Reason: alert.Unpaid,
		At: w.Clock.Now()}))
	raised := commandstest.Fold[alert.Event](w, alert.Stream)[0].(alert.Raised)
	open := []alert.Open{{Alert: raised.Alert, Condition: alert.Condition{Source: raised.Source, Subject: raised.Subject,
		Reason: raised.Reason}}}
	var away error
	admin := writetest.Serve(t, func(models *writetest.Models) []web.Route {
		api := writeapi.API{Alerts: all, ReadModels: models, Now: w.Clock.Now,
			Recorded: func(context.Context) ([]alert.Open, error) { return open, away }}
		return api.AdminRoutes()
	})
	clear := func(id, token string) int {
		response, _ := admin.Post("/admin/alerts/"+id+"/clear", token, "{}")
		return response.StatusCode
	}

	// then neither auditors nor unknown ids can clear an alert
	require.Equal(t, http.StatusForbidden, clear(raised.Alert, "au"))
	require.Equal(t, http.StatusNotFound, clear("another", "op"))
	away = domain.Refuse(domain.Unavailable, "Postgres is away")
	require.Equal(t, http.StatusServiceUnavailable, clear(raised.Alert, "op"))
	away = nil
	require.Len(t, commandstest.Fold[alert.Event](w, alert.Stream), 1)

	// and an operator can; the request waits until the list no longer shows it
	require.Equal(t, http.StatusOK, clear(raised.Alert, "op"))
	require.Equal(t, []readmodel.Model{readmodel.Alerts}, admin.Models.Names)
	require.Equal(t, alert.Cleared{Alert: raised.Alert, At: w.Clock.Now()},
		commandstest.Fold[alert.Event](w, alert.Stream)[1])
}
