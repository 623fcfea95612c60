package sessions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	accountsevents "github.com/recital-tts/recital/commands/accounts"
	sessionsevents "github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	projections "github.com/recital-tts/recital/projections/sessions"
	"github.com/recital-tts/recital/readapi/sessions"
)

func TestMain(m *testing.M) { webtest.Main(m) }

const idle = 24 * time.Hour

// desk is a log of sessions with a read model, and the routes over it.
type desk struct {
	*feedtest.World
	t    *testing.T
	keys *pgkeys.Keyring
	api  *sessions.API
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, World: feedtest.New(t, feedtest.Registry(t, accountsevents.Events(), sessionsevents.Events()),
		projections.ReadModels()...)}
	var err error
	d.keys, err = pgkeys.New(pgkeys.Config{Pool: d.Pool,
		MasterKey: bytes.Repeat([]byte{1}, pgkeys.MasterKeySize), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	d.api = &sessions.API{Models: d.Projector, Keys: d.keys, Idle: idle}
	return d
}

// opened writes a session of account a1 that was opened some time ago.
func (d *desk) opened(n int, ago, expires time.Duration, more ...any) {
	d.t.Helper()
	id, now := fmt.Sprint("s", n), time.Now().UTC()
	device, err := d.keys.Seal(d.t.Context(), "a1", fmt.Appendf(nil, "Browser %d", n), session.DeviceSealedFor(id))
	require.NoError(d.t, err)
	d.Write(d.t, session.Stream(id), append([]any{session.Opened{
		Session: id, Account: "a1", SecretHash: "h", Device: device, Provider: "idp_1", At: now.Add(-ago),
		ExpiresAt: now.Add(expires),
	}}, more...)...)
}

type shown struct {
	ID      string
	Label   *string `json:"device_label"`
	Current bool
}

func (d *desk) list(account string) []shown { return d.listBeside(account, "") }

// listBeside lists the sessions with an account's key and a session's cookie.
func (d *desk) listBeside(account, cookie string) []shown {
	d.t.Helper()
	url := webtest.Serve(d.t, web.Config{Routes: d.api.Routes(), Authenticator: webtest.Keys{}})
	response, body := webtest.Send(d.t, http.MethodGet, url+"/v1/account/sessions", "", "x-api-key", account, "Cookie",
		cookie)
	require.Equal(d.t, http.StatusOK, response.StatusCode, body)
	var listed struct{ Sessions []shown }
	require.NoError(d.t, json.Unmarshal([]byte(body), &listed))
	require.NotNil(d.t, listed.Sessions, "an empty list is no null")
	return listed.Sessions
}

func TestOnlySessionsThatLiveAreShown(t *testing.T) {
	d := newDesk(t)
	d.opened(1, time.Hour, time.Hour)
	d.opened(2, time.Minute, time.Hour)
	d.opened(3, time.Hour, -time.Minute)
	d.opened(4, idle+time.Hour, time.Hour)
	d.opened(5, idle+time.Hour, time.Hour, session.Seen{Session: "s5", Account: "a1", At: time.Now().Add(-time.Minute)})
	d.opened(6, time.Hour, time.Hour, session.Ended{Session: "s6", Account: "a1", Reason: session.Revoked, At: time.Now()})

	var ids []string
	for _, s := range d.list("a1") {
		ids = append(ids, s.ID)
		require.Equal(t, "Browser "+s.ID[1:], *s.Label)
	}
	require.Equal(t, []string{"s2", "s1", "s5"}, ids)
	live, err := d.api.Shown(t.Context(), "a1")
	require.NoError(t, err)
	require.Equal(t, ids, live)
	require.Empty(t, d.list("a2"))
}

func TestTheCurrentSessionIsThatOfTheCookie(t *testing.T) {
	d := newDesk(t)
	d.opened(1, time.Hour, time.Hour)
	d.opened(2, time.Minute, time.Hour)
	for cookie, current := range map[string][]bool{"": {false, false}, "svc-session=s1.x": {false, true},
		"svc-session=s3.x": {false, false}} {
		listed := d.listBeside("a1", cookie)
		require.Len(t, listed, 2)
		require.Equal(t, current, []bool{listed[0].Current, listed[1].Current}, cookie)
	}
}

func TestALabelThatCannotBeReadAnyMoreIsNull(t *testing.T) {
	d := newDesk(t)
	d.opened(1, time.Hour, time.Hour)
	require.NoError(t, d.keys.Erase(t.Context(), "a1"))
	require.Equal(t, []shown{{ID: "s1"}}, d.list("a1"))
}
