package audit_test

import (
	"bytes"
	"crypto/ed25519"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	commands "github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/internal/access/operators"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/memlog"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/writeapi/audit"
)

func TestMain(m *testing.M) { webtest.Main(m) }

func TestACheckTellsHowFarItIsAndWhatItHasFound(t *testing.T) {
	registry, err := eventlog.NewRegistry(commands.Events()...)
	require.NoError(t, err)
	log := memlog.New()
	heads := commands.NewHeads(commands.HeadsConfig{
		Journal: &journal.Journal{Log: log, Registry: registry}, Log: uuid.NewString(), Every: 1000, Now: time.Now,
		Key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize)), Logger: slog.New(slog.DiscardHandler),
	})
	api := &audit.API{Heads: heads}
	tokens := []operators.Token{operators.Single("auditor", "au"), operators.Single("operator", "op")}
	url := webtest.Serve(t, web.Config{Routes: api.AdminRoutes(), Tokens: tokens}) + "/admin/audit/verification"
	check := func() string {
		t.Helper()
		response, body := webtest.Send(t, http.MethodGet, url, "", "Authorization", "Bearer au")
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
		return body
	}
	require.Contains(t, check(), `"intact":false`, "nothing is proved where there are no heads")

	for i := range 600 {
		_, err := log.Append(t.Context(), "account-a1", eventlog.Revision(i-1), []eventlog.Proposed{
			{ID: uuid.New(), Type: "thing-happened", Data: []byte(`{}`), Metadata: []byte(`{"v":1}`)}})
		require.NoError(t, err)
	}
	require.NoError(t, heads.Run(t.Context()))
	for range 5 { // each finished check makes room for another
		body := check()
		require.Regexp(t, `^event: progress\ndata: \{.*"part":0\.\d+.*\}\n\nevent: report\ndata: \{.*"part":1,"intact":true,`+
			`"findings":\[\]\}\n\n$`, body)
		require.Contains(t, body, `"heads":1`)
	}
	response, _ := webtest.Send(t, http.MethodGet, url, "")
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
}
