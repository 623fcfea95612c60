package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// browser is a client that is signed in.
type browser struct {
	t       *testing.T
	account string
	id      string
	cookie  string
}

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

// newAccount opens an account without a key.
func (i instance) newAccount(t *testing.T) string {
	t.Helper()
	id := uuid.NewString()
	_, err := i.Accounts().OpenFor(t.Context(), id, "", nil, journal.System())
	for end := time.Now().Add(patience); isTooSlow(err) && time.Now().Before(end); {
		_, err = i.Accounts().OpenFor(t.Context(), id, "", nil, journal.System())
	}
	require.NoError(t, err)
	return id
}

// signIn opens a session of an account.
func (i instance) signIn(t *testing.T, account string) browser {
	t.Helper()
	client := session.Client{UserAgent: firefox, Address: "192.0.2.7", Country: "NL", Provider: "idp_1"}
	opened, _, err := i.Sessions().Open(t.Context(), account, client, journal.System())
	require.NoError(t, err)
	return browser{t, account, opened.ID, opened.Cookie}
}

type answer struct {
	*http.Response
	body string
}

// ask sends a request like a page of the service.
func (b browser) ask(on instance, method, path string) answer {
	b.t.Helper()
	return b.send(on, method, path, "", "Sec-Fetch-Site", "same-origin")
}

// send sends a request. A read that is late is repeated.
func (b browser) send(on instance, method, path, body string, headers ...string) answer {
	b.t.Helper()
	got := b.once(on, method, path, body, headers...)
	for end := time.Now().Add(lateness); method == http.MethodGet && isLate(got.StatusCode, []byte(got.body)) &&
		time.Now().Before(end); got = b.once(on, method, path, body, headers...) {
		time.Sleep(pause)
	}
	return got
}

func (b browser) once(on instance, method, path, body string, headers ...string) answer {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, "http://"+on.PublicAddr()+path,
		strings.NewReader(body))
	require.NoError(b.t, err)
	request.Header.Set("Cookie", "svc-session="+b.cookie)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	require.NoError(b.t, err)
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	require.NoError(b.t, err)
	return answer{response, string(got)}
}

type listed struct {
	ID        string
	Label     *string `json:"device_label"`
	Country   *string
	CreatedAt int64 `json:"created_at"`
	UpdatedAt int64 `json:"updated_at"`
	Current   bool
}

// list returns the listed sessions of the browser's account.
func (b browser) list(on instance) []listed {
	b.t.Helper()
	got := b.ask(on, http.MethodGet, "/v1/account/sessions")
	require.Equal(b.t, http.StatusOK, got.StatusCode, got.body)
	require.NotContains(b.t, got.body, "192.0.2.7")
	require.Equal(b.t, "no-store", got.Header.Get("Cache-Control"))
	var shown struct{ Sessions []listed }
	require.NoError(b.t, json.Unmarshal([]byte(got.body), &shown))
	return shown.Sessions
}

func (b browser) isSignedOut(on instance) func() bool {
	return func() bool { return b.ask(on, http.MethodGet, "/v1/account").StatusCode == http.StatusUnauthorized }
}

func TestAPersonSeesAndEndsTheSessionsOfTheAccount(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	here := c.open(c.shared)
	there := c.open(c.member())
	for _, i := range []instance{here, there} {
		i.awaitReady(t)
	}
	account := here.newAccount(t)
	laptop, phone := here.signIn(t, account), here.signIn(t, account)
	stranger := here.signIn(t, here.newAccount(t))

	// then both instances list them, newest first
	for _, on := range []instance{here, there} {
		require.Eventually(t, func() bool { return len(laptop.list(on)) == 2 }, patience, pause)
	}
	shown := laptop.list(there)
	require.Equal(t, []string{phone.id, laptop.id}, []string{shown[0].ID, shown[1].ID})
	require.Equal(t, []bool{false, true}, []bool{shown[0].Current, shown[1].Current})
	require.Equal(t, "Firefox on Linux", *shown[1].Label)
	require.Equal(t, "NL", *shown[1].Country)
	require.InDelta(t, time.Now().Unix(), shown[1].CreatedAt, patience.Seconds())
	require.Equal(t, shown[1].CreatedAt, shown[1].UpdatedAt)

	// when another account, or a foreign page, tries to end one, then it is refused
	require.Equal(t, http.StatusNotFound,
		stranger.ask(here, http.MethodDelete, "/v1/account/sessions/"+phone.id).StatusCode)
	require.Equal(t, http.StatusForbidden,
		laptop.send(here, http.MethodDelete, "/v1/account/sessions/"+phone.id, "", "Sec-Fetch-Site", "cross-site").StatusCode)
	require.Equal(t, http.StatusForbidden,
		laptop.send(here, http.MethodPost, "/v1/account/sessions/revoke_all", "").StatusCode)
	require.False(t, phone.isSignedOut(there)())

	// when the person ends the phone's session, then the phone is signed out on both instances, and not listed any more
	got := laptop.ask(here, http.MethodDelete, "/v1/account/sessions/"+phone.id)
	require.Equal(t, http.StatusOK, got.StatusCode, got.body)
	require.JSONEq(t, `{"success":true}`, got.body)
	require.Empty(t, got.Cookies())
	require.Eventually(t, func() bool { return len(laptop.list(here)) == 1 }, patience, pause)
	require.Eventually(t, phone.isSignedOut(there), patience, pause)
	require.Equal(t, http.StatusNotFound, laptop.ask(here, http.MethodDelete, "/v1/account/sessions/"+phone.id).StatusCode)

	// when all sessions are ended, then the current one is, too, and its cookie is cleared
	tablet := there.signIn(t, account)
	require.False(t, tablet.isSignedOut(there)())
	got = laptop.ask(here, http.MethodPost, "/v1/account/sessions/revoke_all")
	require.Equal(t, http.StatusOK, got.StatusCode, got.body)
	require.Len(t, got.Cookies(), 1)
	require.Empty(t, got.Cookies()[0].Value)
	for _, b := range []browser{laptop, tablet} {
		require.Eventually(t, b.isSignedOut(there), patience, pause)
		require.True(t, b.isSignedOut(here)())
	}
	again := here.signIn(t, account)
	require.Eventually(t, func() bool { s := again.list(here); return len(s) == 1 && s[0].ID == again.id }, patience,
		pause)
	require.False(t, stranger.isSignedOut(there)())
}

func TestAPlaygroundSpeaksByCookieUntilItsSessionEnds(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	here := c.open(c.shared)
	there := c.open(c.member())
	b := here.signIn(t, here.newAccount(t))

	// given a page that synthesises, and has a socket on another instance
	require.Equal(t, http.StatusForbidden,
		b.send(here, http.MethodPost, "/v1/ai/speech/bytes", `{"text":"Hello.","voice":"leah"}`).StatusCode)
	spoken := b.send(here, http.MethodPost, "/v1/ai/speech/bytes", `{"text":"Hello.","voice":"leah"}`, "Origin",
		"http://"+here.PublicAddr())
	require.Equal(t, http.StatusOK, spoken.StatusCode, spoken.body)
	require.Equal(t, http.StatusUnauthorized,
		b.send(here, http.MethodGet, "/v1/ai/speech?text=Hello.&voice=leah", "", "Sec-Fetch-Site", "same-origin").StatusCode)
	header := http.Header{"Cookie": {"svc-session=" + b.cookie}, "Origin": {"http://" + there.PublicAddr()}}
	ws, _, err := websocket.DefaultDialer.Dial("ws://"+there.PublicAddr()+"/v1/ai/speech/stream", header)
	require.NoError(t, err)
	defer ws.Close()
	require.NoError(t, ws.SetReadDeadline(time.Now().Add(patience)))
	require.NoError(t, ws.WriteJSON(map[string]string{"voice": "leah", "lmnt-version": "1.1"}))
	_, message, err := ws.ReadMessage()
	require.NoError(t, err)
	require.Contains(t, string(message), "ready")

	// when the session is ended, then the socket ends
	require.Equal(t, http.StatusOK, b.ask(here, http.MethodDelete, "/v1/account/sessions/"+b.id).StatusCode)
	for err == nil {
		_, _, err = ws.ReadMessage()
	}
	require.True(t, websocket.IsCloseError(err, websocket.ClosePolicyViolation), err)
	require.ErrorContains(t, err, "The session has ended")
}

// opened returns a session that was opened some time ago.
func (c *cluster) opened(t *testing.T, account string, ago, expires time.Duration) browser {
	t.Helper()
	cookie, err := session.DrawCookie(strings.NewReader(uuid.NewString() + uuid.NewString() + uuid.NewString()))
	require.NoError(t, err)
	at := time.Now().UTC().Add(-ago)
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: at}
	proposed, err := c.registry.Encode(uuid.New(), 0, meta, session.Opened{
		Session: cookie.ID, Account: account, SecretHash: cookie.Hash(), Provider: "idp_1", At: at,
		ExpiresAt: time.Now().UTC().Add(expires),
	})
	require.NoError(t, err)
	_, err = c.log.Append(t.Context(), session.Stream(cookie.ID), eventlog.NoStream, proposed)
	require.NoError(t, err)
	return browser{t, account, cookie.ID, cookie.Value()}
}

// types returns the event types of a stream.
func (c *cluster) types(t *testing.T, stream string) (types []string) {
	t.Helper()
	for event, err := range c.log.ReadStream(t.Context(), stream, 0) {
		require.NoError(t, err)
		types = append(types, event.Type)
	}
	return types
}

func TestAnOldSecretIsReplacedAndUseIsNotedOnce(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	c := newCluster(t)
	here := c.open(c.shared)
	there := c.open(c.member())
	account := here.newAccount(t)
	old, quiet := c.opened(t, account, 30*time.Hour, time.Hour), c.opened(t, account, time.Hour, time.Hour)

	// when sessions are used until that is recorded
	require.Eventually(t, func() bool {
		require.Empty(t, quiet.ask(here, http.MethodGet, "/v1/account").Cookies())
		return len(c.types(t, session.Stream(quiet.id))) > 1
	}, patience, pause)
	for range 3 {
		require.Empty(t, quiet.ask(here, http.MethodGet, "/v1/account").Cookies())
		require.Empty(t, quiet.ask(there, http.MethodGet, "/v1/account").Cookies())
	}
	var got answer
	require.Eventually(t, func() bool {
		got = old.ask(here, http.MethodGet, "/v1/account")
		return len(got.Cookies()) > 0
	}, patience, pause)

	// then their use is recorded once, and a cookie with an old secret is replaced
	require.Equal(t, []string{"session-opened", "session-seen"}, c.types(t, session.Stream(quiet.id)))
	require.Len(t, got.Cookies(), 1)
	renewed := old
	renewed.cookie = got.Cookies()[0].Value
	require.NotEqual(t, old.cookie, renewed.cookie)
	require.True(t, strings.HasPrefix(renewed.cookie, old.id+"."))
	for _, on := range []instance{there, here} {
		for _, b := range []browser{renewed, old} { // the old one for requests in progress
			again := b.ask(on, http.MethodGet, "/v1/account")
			require.Equal(t, http.StatusOK, again.StatusCode)
			require.Empty(t, again.Cookies())
		}
	}
	require.Equal(t, []string{"session-opened", "session-rotated"}, c.types(t, session.Stream(old.id)))
}

// A replaced secret that is used after its overlap shows that the cookie was stolen.
func TestAReplacedSecretThatIsShownLaterEndsTheSession(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	here := c.open(c.shared)
	old := c.opened(t, here.newAccount(t), 30*time.Hour, time.Hour)
	shown, _ := session.ParseCookie(old.cookie)
	next, err := shown.Renewed(strings.NewReader(uuid.NewString() + uuid.NewString()))
	require.NoError(t, err)
	at := time.Now().UTC().Add(-session.Overlap)
	proposed, err := c.registry.Encode(uuid.New(), 0, eventlog.Metadata{
		Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: at,
	}, session.Rotated{
		Session: old.id, Account: old.account, SecretHash: next.Hash(), FormerHash: shown.Hash(),
		OpenedAt: at.Add(-time.Hour), ExpiresAt: at.Add(time.Hour), At: at,
	})
	require.NoError(t, err)
	_, err = c.log.Append(t.Context(), session.Stream(old.id), 0, proposed)
	require.NoError(t, err)
	renewed := old
	renewed.cookie = next.Value()
	require.Equal(t, http.StatusOK, renewed.ask(here, http.MethodGet, "/v1/account").StatusCode)

	// when it is used, then it is refused, its cookie is cleared, and the session ends
	got := old.ask(here, http.MethodGet, "/v1/account")
	require.Equal(t, http.StatusUnauthorized, got.StatusCode)
	require.Len(t, got.Cookies(), 1)
	require.Empty(t, got.Cookies()[0].Value)
	require.Eventually(t, func() bool { // if the end was not recorded in time, the next use ends it
		require.Equal(t, http.StatusUnauthorized, old.ask(here, http.MethodGet, "/v1/account").StatusCode)
		return slices.Equal([]string{"session-opened", "session-rotated", "session-ended"},
			c.types(t, session.Stream(old.id)))
	}, patience, pause)
	require.Eventually(t, renewed.isSignedOut(here), patience, pause)
}

func TestAnExpiredSessionIsEnded(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	here := c.open(c.shared)
	account := here.newAccount(t)
	b := c.opened(t, account, time.Hour, 0)
	require.True(t, b.isSignedOut(here)())
	require.Eventually(t, func() bool {
		return fmt.Sprint(c.types(t, session.Stream(b.id))) == "[session-opened session-ended]"
	}, patience, pause)
}
