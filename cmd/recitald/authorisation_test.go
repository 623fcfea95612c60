package main_test

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// access is the kind of caller that a route admits.
type access int

const (
	anybody   access = iota
	keys             // API keys
	reads            // keys, and sessions
	writes           // keys, and sessions of pages of the service
	operators        // the operator token, and this machine
	sockets          // keys, and sessions of pages of the service, over WebSocket
	leavers          // any caller; one with a session only from pages of the service
	reporters        // keys, and sessions, of accounts with the role of an operator
	listeners        // any caller, but a key has to be valid
)

// grant is a row of the table of all routes.
type grant struct {
	access access
	// foreign returns a path or form that refers to another account's resource. The route returns 404 for it.
	foreign func(stranger) (path string, form url.Values)
}

// authorisation returns the grants of all routes of the service.
func authorisation() map[string]grant {
	named := func(of func(stranger) string) func(stranger) (string, url.Values) {
		return func(s stranger) (string, url.Values) { return of(s), nil }
	}
	return map[string]grant{
		"GET /": {}, "GET /openapi.json": {}, "GET /asyncapi.json": {}, "GET /docs": {}, "GET /docs/assets/{name}": {},
		"GET /console": {}, "GET /console/card": {}, "GET /console/assets/{name}": {}, "GET /auth/oauth/providers": {},
		"GET /health_check": {}, "GET /ready_check": {}, "POST /echo": {},
		"POST /drain": {access: operators},

		"GET /v1/damage_report": {access: reporters},

		"GET /auth/oauth/login":      {},
		"GET /auth/oauth/{provider}": {}, // by the state in the browser's cookie
		"GET /auth/oauth/validate":   {access: reads},
		"GET /auth/oauth/logout":     {access: leavers},

		"GET /v1/account":             {access: reads},
		"DELETE /v1/account":          {access: writes},
		"GET /v1/account/new_api_key": {access: writes},
		"DELETE /v1/account/api_key/{masked}": {access: writes, foreign: named(func(s stranger) string {
			return "/v1/account/api_key/" + account.MaskAPIKey(s.key)
		})},
		"POST /v1/account/api_key/{masked}/name": {access: writes, foreign: func(s stranger) (string, url.Values) {
			return "/v1/account/api_key/" + account.MaskAPIKey(s.key) + "/name", url.Values{"name": {"mine"}}
		}},
		"POST /v1/account/accept_tos":         {access: writes},
		"POST /v1/account/set_email_prefs":    {access: writes},
		"GET /v1/account/events":              {access: reads},
		"GET /v1/account/activity":            {access: reads},
		"GET /v1/account/sessions":            {access: reads},
		"GET /v1/account/billing_history":     {access: reads},
		"GET /v1/account/daily_usage_history": {access: reads},
		"GET /v1/account/key_usage":           {access: reads},
		"DELETE /v1/account/sessions/{session_public_id}": {access: writes, foreign: named(func(s stranger) string {
			return "/v1/account/sessions/" + s.session
		})},
		"POST /v1/account/sessions/revoke_all": {access: writes},
		"GET /v1/account/clips":                {access: reads},
		"GET /v1/account/clip/{clip_id}":       {}, // public: the id is the secret
		"GET /v1/account/clip/{clip_id}/audio": {},
		"DELETE /v1/account/clip/{clip_id}": {access: writes, foreign: named(func(s stranger) string {
			return "/v1/account/clip/" + s.clip
		})},

		"POST /v1/account/hosting/projects": {access: writes, foreign: func(s stranger) (string, url.Values) {
			return "/v1/account/hosting/projects", url.Values{"config_id": {s.config}}
		}},
		"POST /v1/account/hosting/env_vars": {access: writes, foreign: func(s stranger) (string, url.Values) {
			return "/v1/account/hosting/env_vars", url.Values{"config_id": {s.config}, "remove_projects": {"site"}}
		}},

		"GET /payments/products":                 {},
		"GET /payments/card-form":                {},
		"GET /payments/billing":                  {access: reads},
		"GET /payments/spending-cap":             {access: reads},
		"PUT /payments/spending-cap":             {access: writes},
		"POST /payments/subscribe":               {access: writes},
		"POST /payments/change-plan":             {access: writes},
		"POST /payments/cancel-scheduled-change": {access: writes},
		"POST /payments/cancel":                  {access: writes},
		"POST /payments/uncancel":                {access: writes},
		"POST /payments/setup-intent":            {access: writes},
		"POST /payments/payment-method/replace":  {access: writes},
		"POST /payments/webhook":                 {}, // by the provider's signature
		"POST /payments/webhook/analytics":       {},

		"POST /v1/audio/speech": {access: keys},
		"GET /v1/models":        {access: keys},

		"GET /v1/ai/speech":                     {access: keys},
		"POST /v1/ai/speech":                    {access: writes},
		"POST /v1/ai/speech/bytes":              {access: writes},
		"POST /v1/ai/speech/kanna":              {}, // limited by address
		"POST /v1/ai/speech/kanna_improved":     {},
		"GET /v1/ai/speech/stream":              {access: sockets},
		"GET /v1/ai/speech/timestamps/{id}":     {}, // by its signed address
		"POST /speech/beta/synthesize":          {access: writes},
		"GET /speech/beta/synthesize_streaming": {access: sockets},
		"GET /speech/beta/voices":               {access: reads},
		"GET /speech/beta/{path}":               {}, // always 404
		"PUT /speech/beta/{path}":               {},
		"POST /speech/beta/{path}":              {},
		"DELETE /speech/beta/{path}":            {},
		"GET /v1/ai/voice/list":                 {access: reads},
		"POST /v1/ai/voice":                     {access: writes},
		"POST /v1/ai/voice/precheck":            {access: writes},
		"GET /v1/ai/voice/{id}": {access: reads, foreign: named(func(s stranger) string {
			return "/v1/ai/voice/" + s.voice
		})},
		"PUT /v1/ai/voice/{id}": {access: writes, foreign: named(func(s stranger) string {
			return "/v1/ai/voice/" + s.voice
		})},
		"DELETE /v1/ai/voice/{id}": {access: writes, foreign: named(func(s stranger) string {
			return "/v1/ai/voice/" + s.voice
		})},
		"GET /v1/ai/voice/{id}/preview": {access: listeners, foreign: named(func(s stranger) string {
			return "/v1/ai/voice/" + s.voice + "/preview"
		})},
		"POST /v1/ai/voice/{id}/preview/invalidate": {access: writes, foreign: named(func(s stranger) string {
			return "/v1/ai/voice/" + s.voice + "/preview/invalidate"
		})},
		"GET /v1/account/pronunciations": {access: reads},
		"PUT /v1/account/pronunciations": {access: writes},
		"DELETE /v1/account/pronunciations/{id}": {access: writes, foreign: named(func(s stranger) string {
			return "/v1/account/pronunciations/" + s.pronunciation
		})},
		"POST /v1/ai/speech/feedback": {access: writes, foreign: func(s stranger) (string, url.Values) {
			return "/v1/ai/speech/feedback", url.Values{"id": {s.synthesis}, "rating": {"thumbsUp"}}
		}},
	}
}

// stranger is another account with its resources.
type stranger struct {
	customer
	session, clip, synthesis, config, voice, pronunciation string
}

// gate is a recitald, with access to its log for opening sessions.
type gate struct {
	*server
	log      eventlog.Log
	registry *eventlog.Registry
	sessions *sessions.Sessions
}

func newGate(t *testing.T) *gate {
	t.Helper()
	events := outsideServices(t).events
	g := &gate{server: start(t, dataFolder(t), "--eventstore="+events, "--address-rate=0")}
	var err error
	g.registry, err = app.Registry()
	require.NoError(t, err)
	client, err := esdb.Open(esdb.Config{ConnectionString: events})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	g.log = client
	j := &journal.Journal{Log: g.log, Registry: g.registry}
	g.sessions = sessions.New(sessions.Config{
		Journal: j, Accounts: accounts.New(j, time.Now), Now: time.Now,
		Limits: sessions.Limits{Length: time.Hour, Idle: time.Hour, Rotate: time.Hour},
	})
	return g
}

// signIn returns the cookie of a new session of an account.
func (g *gate) signIn(id string) string {
	g.t.Helper()
	opened, _, err := g.sessions.Open(g.t.Context(), id, session.Client{}, journal.System())
	require.NoError(g.t, err)
	return opened.Cookie
}

// expired returns the cookie of an expired session.
func (g *gate) expired(id string) string {
	g.t.Helper()
	cookie, err := session.DrawCookie(rand.Reader)
	require.NoError(g.t, err)
	now := time.Now().UTC()
	proposed, err := g.registry.Encode(uuid.New(), 0, eventlog.Metadata{Actor: journal.System().Actor, Time: now},
		session.Opened{
			Session: cookie.ID, Account: id, SecretHash: cookie.Hash(), Provider: "idp_1", At: now.Add(-time.Hour),
			ExpiresAt: now,
		})
	require.NoError(g.t, err)
	_, err = g.log.Append(g.t.Context(), session.Stream(cookie.ID), eventlog.NoStream, proposed)
	require.NoError(g.t, err)
	return cookie.Value()
}

// newStranger returns an account with a key, a session, a clip, a synthesis, a voice, and a project at the hosting
// platform.
func (g *gate) newStranger() stranger {
	g.t.Helper()
	s := stranger{customer: g.openAccount("indie")}
	s.session, _, _ = strings.Cut(g.signIn(s.id), ".")
	spoken := requireOK(g.t, s.post(g.t, bytesRoute, order{"text": "Mine.", "voice": "leah", "debug": true}))
	s.voice = g.voiceOf(s.id)
	s.pronunciation = s.pronounces(g.t, order{"word": "mine", "spoken": "yours"}).ID
	s.clip, s.synthesis = spoken.header.Get("x-clip-id"), spoken.header.Get("x-generation-id")
	var code string
	s.config, code = g.installs("site")
	s.hosts(g.t, "projects", url.Values{"config_id": {s.config}, "code": {code}})
	s.hosts(g.t, "env_vars", url.Values{"config_id": {s.config}, "add_project_names": {"site"}})
	return s
}

// voiceOf gives an account a broken voice, which no worker processes.
func (g *gate) voiceOf(id string) string {
	g.t.Helper()
	const one = "00000000000000aa"
	now := time.Now().UTC()
	proposed, err := g.registry.Encode(uuid.New(), 0, eventlog.Metadata{Actor: journal.System().Actor, Time: now},
		voice.Created{Voice: one, Account: id, Type: voice.Instant, Sealed: []byte{1},
			Recordings: []voice.Recording{{Blob: "none", Bytes: 1, SHA256: "none"}}, At: now},
		voice.Broken{Voice: one, Account: id, Reason: "silent", Message: "There is no speech", At: now})
	require.NoError(g.t, err)
	_, err = g.log.Append(g.t.Context(), voice.Stream(one), eventlog.NoStream, proposed)
	require.NoError(g.t, err)
	return one
}

// caller is a client with its credentials.
type caller struct {
	key, cookie string
	proof       []string // headers
}

var (
	ownPage   = []string{"Sec-Fetch-Site", "same-origin"}
	otherPage = []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}
)

// dead returns callers with invalid credentials.
func (g *gate) dead() map[string]caller {
	g.t.Helper()
	revoked, ended, closed, alive := g.openAccount("free"), g.openAccount("free"), g.openAccount("free"),
		g.openAccount("free")
	cookies := map[string]string{"of an expired session": g.expired(alive.id),
		"of a session that was ended": g.signIn(ended.id), "of a closed account": g.signIn(closed.id)}
	all := map[string]caller{
		"no credential":                    {},
		"no credential, from a page":       {proof: ownPage},
		"a garbage key":                    {key: "rk_garbage"},
		"an unknown key":                   {key: drawnKey(g.t)},
		"a revoked key":                    {key: revoked.key},
		"the key of a closed account":      {key: closed.key},
		"a wrong key beside a good cookie": {key: drawnKey(g.t), cookie: g.signIn(alive.id), proof: ownPage},
		"a garbage cookie":                 {cookie: "garbage", proof: ownPage},
		"an unknown cookie":                {cookie: strings.Repeat("0", 32) + "." + strings.Repeat("A", 43), proof: ownPage},
		"a cookie with another's secret":   {cookie: swapped(g.signIn(alive.id), g.signIn(alive.id)), proof: ownPage},
		"a key in the cookie":              {cookie: alive.key, proof: ownPage},
		"a cookie in the key":              {key: g.signIn(alive.id)},
	}
	for name, cookie := range cookies {
		all["the cookie "+name] = caller{cookie: cookie, proof: ownPage}
	}
	require.Equal(g.t, 200, revoked.revokeKey(g.t).status)
	require.Equal(g.t, 200, do(g.t, ended.request(http.MethodPost, "/v1/account/sessions/revoke_all", nil)).status)
	require.Equal(g.t, 200, do(g.t, closed.request(http.MethodDelete, "/v1/account", nil)).status)
	return all
}

func drawnKey(t *testing.T) string {
	t.Helper()
	key, err := account.DrawAPIKey(rand.Reader)
	require.NoError(t, err)
	return key
}

// swapped returns a cookie with the secret of another one.
func swapped(cookie, other string) string {
	id, _, _ := strings.Cut(cookie, ".")
	_, secret, _ := strings.Cut(other, ".")
	return id + "." + secret
}

// visit returns the status that a caller gets from a route.
func (g *gate) visit(row string, v caller) int {
	g.t.Helper()
	method, path, _ := strings.Cut(row, " ")
	for strings.Contains(path, "{") {
		before, rest, _ := strings.Cut(path, "{")
		_, after, _ := strings.Cut(rest, "}")
		path = before + "nothing" + after
	}
	return g.send(method, path, nil, v)
}

func (g *gate) send(method, path string, form url.Values, v caller) int {
	g.t.Helper()
	body, contentType := "{}", "application/json"
	if form != nil {
		body, contentType = form.Encode(), "application/x-www-form-urlencoded"
	}
	if form != nil && strings.HasSuffix(path, "/name") {
		encoded, err := json.Marshal(map[string]string{"name": form.Get("name")})
		require.NoError(g.t, err)
		body, contentType = string(encoded), "application/json"
	}
	request, err := http.NewRequest(method, g.address+path, strings.NewReader(body))
	require.NoError(g.t, err)
	if method == http.MethodGet {
		request.Body, request.ContentLength = nil, 0
	}
	request.Header.Set("Content-Type", contentType)
	request.Header = v.addTo(request.Header)
	return do(g.t, request).status
}

// addTo adds the caller's credentials, and an address that is not this machine's.
func (v caller) addTo(header http.Header) http.Header {
	header.Set("X-Forwarded-For", "192.0.2.1")
	if v.key != "" {
		header.Set("X-Api-Key", v.key)
	}
	if v.cookie != "" {
		header.Set("Cookie", "svc-session="+v.cookie)
	}
	for i := 0; i < len(v.proof); i += 2 {
		header.Set(v.proof[i], v.proof[i+1])
	}
	return header
}

// talk opens a WebSocket and returns its first message as a status.
func (g *gate) talk(path string, v caller) int {
	g.t.Helper()
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(g.address, "http")+path, v.addTo(http.Header{}))
	require.NoError(g.t, err)
	defer ws.Close()
	require.NoError(g.t, ws.SetReadDeadline(time.Now().Add(patience)))
	require.NoError(g.t, ws.WriteJSON(order{"voice": "leah", "lmnt-version": "1.1"}))
	_, message, err := ws.ReadMessage()
	require.NoError(g.t, err)
	var told struct {
		Type  string
		Error struct{ Type string }
	}
	require.NoError(g.t, json.Unmarshal(message, &told), string(message))
	return map[string]int{"ready": 200, "authentication_error": 401, "permission_error": 403}[cmp.Or(told.Error.Type,
		told.Type)]
}

// Every route admits and refuses each kind of caller as documented. A new route needs a row in the table.
func TestEveryRouteAdmitsWhomItShould(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	g := newGate(t)
	table := authorisation()
	for _, row := range g.description().operations() {
		require.Contains(t, table, row, "a new route needs a row in authorisation()")
	}
	dead, foreign := g.dead(), g.newStranger()
	for row, grant := range table {
		t.Run(row, func(t *testing.T) {
			g := g.in(t)
			ask := func(v caller) int { return g.visit(row, v) }
			if grant.access == sockets {
				ask = func(v caller) int { return g.talk(strings.TrimPrefix(row, "GET "), v) }
			}
			for name, v := range dead {
				g.requireRefused(grant.access, ask(v), v, name)
			}
			g.requireAdmitted(grant.access, ask)
			if grant.foreign != nil {
				g.requireForeign(row, grant, foreign)
			}
		})
	}
}

// in returns the gate for a subtest.
func (g *gate) in(t *testing.T) *gate {
	of, inner := *g, *g.server
	inner.t = t
	of.server = &inner
	return &of
}

func (g *gate) requireRefused(a access, status int, v caller, name string) {
	g.t.Helper()
	if a == anybody || (a == leavers || a == listeners) && v.key == "" {
		require.NotContains(g.t, []int{401, 403}, status, name)
		return
	}
	require.Equal(g.t, 401, status, name)
}

// requireAdmitted asks with valid credentials. Each caller has its own account, because a route may close it.
func (g *gate) requireAdmitted(a access, ask func(caller) int) {
	g.t.Helper()
	fresh := func() (key, cookie string) {
		c := g.openAccount("indie")
		return c.key, g.signIn(c.id)
	}
	for _, c := range []struct {
		name     string
		caller   func(key, cookie string) caller
		admitted map[access]int // 0: any status except 401 and 403
	}{
		{"a key", func(key, _ string) caller { return caller{key: key} }, map[access]int{reporters: 403, operators: 401}},
		{"a key on a foreign page", func(key, _ string) caller { return caller{key: key, proof: otherPage} },
			map[access]int{reporters: 403, operators: 401, leavers: 401}}, // a key has no session to end
		{"a key beside a cookie", func(key, cookie string) caller { return caller{key: key, cookie: cookie} },
			map[access]int{reporters: 403, operators: 401}},
		{"a key beside a dead cookie", func(key, _ string) caller { return caller{key: key, cookie: "garbage"} },
			map[access]int{reporters: 403, operators: 401}},
		{"a cookie on a page of the service", func(_, cookie string) caller { return caller{cookie: cookie, proof: ownPage} },
			map[access]int{reporters: 403, operators: 401, keys: 401}},
		{"a cookie alone", func(_, cookie string) caller { return caller{cookie: cookie} },
			map[access]int{reporters: 403, operators: 401, keys: 401, writes: 403, sockets: 403, leavers: 403}},
		{"a cookie on a foreign page", func(_, cookie string) caller { return caller{cookie: cookie, proof: otherPage} },
			map[access]int{reporters: 403, operators: 401, keys: 401, writes: 403, sockets: 403, leavers: 403}},
	} {
		key, cookie := fresh()
		status := ask(c.caller(key, cookie))
		if want := c.admitted[a]; want != 0 {
			require.Equal(g.t, want, status, c.name)
			continue
		}
		require.NotContains(g.t, []int{401, 403}, status, c.name)
		require.Less(g.t, status, 500, c.name)
	}
}

// The operator role admits an account to the damage report, by key and by cookie, until it is withdrawn.
func TestOperatorsReadTheDamageReport(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	c := g.openAccount("free")
	callers := map[string]caller{"by key": {key: c.key}, "by cookie": {cookie: g.signIn(c.id)}}
	admitted := func(want int) {
		t.Helper()
		for name, v := range callers {
			require.Eventually(t, func() bool { return g.visit("GET /v1/damage_report", v) == want }, patience, time.Millisecond,
				name)
		}
	}
	admitted(403)
	g.recitalctl("accounts", "grant-operator", c.id, "--reason", "Ticket 7")
	admitted(200)
	g.recitalctl("accounts", "withdraw-operator", c.id, "--reason", "Ticket 7")
	admitted(403)
}

// requireForeign asks for another account's resources, by key and by cookie.
func (g *gate) requireForeign(row string, grant grant, other stranger) {
	g.t.Helper()
	method, _, _ := strings.Cut(row, " ")
	path, form := grant.foreign(other)
	own := g.openAccount("indie")
	require.Equal(g.t, 404, g.send(method, path, form, caller{key: own.key}), "by key")
	require.Equal(g.t, 404, g.send(method, path, form, caller{cookie: g.signIn(own.id), proof: ownPage}), "by cookie")
}
