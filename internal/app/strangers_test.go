package app_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// stranger appends an event that Recital does not know to a stream.
func (c *cluster) stranger(stream, eventType, data string) (id uuid.UUID) {
	c.t.Helper()
	id = uuid.New()
	_, err := c.log.Append(c.t.Context(), stream, c.end(stream),
		[]eventlog.Proposed{{ID: id, Type: eventType, Data: []byte(data)}})
	require.NoError(c.t, err)
	return id
}

// end returns the revision of a stream's last event.
func (c *cluster) end(stream string) eventlog.Revision {
	c.t.Helper()
	for event, err := range c.log.ReadStreamBackwards(c.t.Context(), stream) {
		require.NoError(c.t, err)
		return eventlog.Revision(event.Revision)
	}
	return eventlog.NoStream
}

func (c *cluster) head() eventlog.Position {
	c.t.Helper()
	head, err := c.log.Head(c.t.Context())
	require.NoError(c.t, err)
	return head
}

// ask sends a request to the public address with the first instance's key.
func (i instance) ask(t *testing.T, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	return do(t, i.asked(t, method, path, body, headers...))
}

func (i instance) asked(t *testing.T, method, path, body string, headers ...string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+i.PublicAddr()+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("x-api-key", secret(t, i.cfg, "dev-api-key"))
	if body != "" {
		request.Header.Set("content-type", "application/json")
	}
	for n := 0; n < len(headers); n += 2 {
		request.Header.Set(headers[n], headers[n+1])
	}
	return request
}

// operate sends an operator's request to the admin address and returns the reply. It repeats a late read.
func (i instance) operate(t *testing.T, method, path string, body any) (reply []byte) {
	t.Helper()
	status, reply := i.operateOnce(t, method, path, body)
	for end := time.Now().Add(lateness); method == http.MethodGet && isLate(status, reply) && time.Now().Before(end); {
		time.Sleep(pause)
		status, reply = i.operateOnce(t, method, path, body)
	}
	require.Equal(t, http.StatusOK, status, string(reply))
	return reply
}

func (i instance) operateOnce(t *testing.T, method, path string, body any) (status int, reply []byte) {
	t.Helper()
	sent, err := json.Marshal(body)
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+i.AdminAddr()+path, bytes.NewReader(sent))
	require.NoError(t, err)
	request.Header.Set("authorization", "Bearer "+secret(t, i.cfg, "operator-token"))
	request.Header.Set("content-type", "application/json")
	request.Header.Set("x-recital-reason", "Ticket 7")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	reply, err = io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, reply
}

const speechOfOneWord = `{"text":"Hello.","voice":"leah"}`

func (i instance) awaitReady(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return i.ask(t, http.MethodGet, "/ready_check", "").StatusCode == http.StatusOK },
		patience, pause)
}

func TestEventsOfOtherApplicationsAreIgnored(t *testing.T) {
	t.Parallel()
	// given an event store that another application uses, too
	c := newCluster(t)
	strangers := func() {
		c.stranger("orders-1", "order-placed", `{"amount": 7}`)
		c.stranger("orders-1", "OrderShipped", `no JSON`)
		c.stranger("accounting", "account-opened", `{"account": 7}`)
		c.stranger("usages-1", "usage-reserved", `{}`)
	}
	strangers()

	// when recitald starts on it, and the other application continues
	one := c.open(c.shared)
	one.awaitReady(t)
	for range 3 {
		strangers()
		written := one.ask(t, http.MethodPost, "/v1/ai/speech", speechOfOneWord)
		require.Equal(t, http.StatusOK, written.StatusCode)
		strangers()
		head := c.head()

		// then requests are served, reads show the writes, and even the other application's positions are reached
		for _, position := range []string{written.Header.Get("x-recital-position"), head.String()} {
			read := one.ask(t, http.MethodGet, "/v1/account", "", "x-recital-min-position", position)
			require.Equal(t, http.StatusOK, read.StatusCode)
		}
		one.awaitReady(t)
	}
	var lines string
	require.Eventually(t, func() bool { // on a slow machine it may briefly be 0
		lines = strings.Join(figures(t, one.App, secret(t, one.cfg, "operator-token")), "\n")
		return strings.Contains(lines, "recital_revocation_live 1")
	}, patience, pause)
	require.NotContains(t, lines, `state="stopped",version="1"} 1`)
	require.Regexp(t, `recital_projection_foreign_events_total\{generation="1",projection="account",version="1"\} [1-9]`,
		lines)
}

func TestAnUnknownEventInOurStreamsDoesNotPreventAStart(t *testing.T) {
	t.Parallel()
	// given one of our streams with an unknown event
	c := newCluster(t)
	strange := c.stranger("account-strange", "account-adopted", `{}`)

	// when recitald starts for the first time
	one := c.open(c.shared)

	// then it serves requests that need no read model, and is not ready
	require.Equal(t, http.StatusOK, one.ask(t, http.MethodPost, "/v1/ai/speech", speechOfOneWord).StatusCode)
	require.Equal(t, http.StatusServiceUnavailable, one.ask(t, http.MethodGet, "/ready_check", "").StatusCode)

	// and operators see the event with the read models that stopped before it
	var readers []string
	for _, p := range app.ReadModels() {
		if p.Streams.Include("account-strange") {
			readers = append(readers, p.Name)
		}
	}
	require.Less(t, len(readers), len(app.ReadModels()))
	type event struct {
		Projection string `json:"name"`
		Event      string `json:"event_id"`
		State      string `json:"state"`
	}
	var list struct{ Parked []event }
	require.Eventually(t, func() bool {
		list.Parked = nil
		require.NoError(t, json.Unmarshal(one.operate(t, http.MethodGet, "/admin/projections/parked", nil), &list))
		return len(list.Parked) == len(readers)
	}, patience, pause)
	for _, e := range list.Parked {
		require.Contains(t, readers, e.Projection)
		require.Equal(t, event{e.Projection, strange.String(), "blocking"}, e)
	}

	// and other read models continue
	products := one.ask(t, http.MethodGet, "/payments/products", "", "x-recital-min-position", c.head().String())
	require.Equal(t, http.StatusOK, products.StatusCode)

	// and there is one alert for it
	require.Eventually(t, func() bool { return len(c.raised(strange)) > 0 }, patience, pause)
	require.Equal(t, []string{alert.EventSource}, c.raised(strange))
	require.Regexp(t, `recital_alerts_total\{reason="outdated",source="event"\} [1-9]`,
		strings.Join(figures(t, one.App, secret(t, one.cfg, "operator-token")), "\n"))

	// when they skip it, once, then recitald is ready, and reads show the writes
	c.skip(one, strange)
	one.awaitReady(t)
	written := one.ask(t, http.MethodPost, "/v1/ai/speech", speechOfOneWord)
	require.Equal(t, http.StatusOK, written.StatusCode)
	read := one.ask(t, http.MethodGet, "/v1/account", "", "x-recital-min-position",
		written.Header.Get("x-recital-position"))
	require.Equal(t, http.StatusOK, read.StatusCode)
}

func TestAnUnknownEventOutsideOfReadModelsIsIgnored(t *testing.T) {
	t.Parallel()
	// given one of our streams that no read model reads, with an unknown event
	c := newCluster(t)
	c.stranger("feedback-strange", "feedback-withdrawn", `{}`)

	// when recitald starts, and more such events follow, then it is ready, and reads show the writes
	one := c.open(c.shared)
	one.awaitReady(t)
	c.stranger("feedback-strange", "feedback-withdrawn", `{}`)
	written := one.ask(t, http.MethodPost, "/v1/ai/speech", speechOfOneWord)
	require.Equal(t, http.StatusOK, written.StatusCode)
	for _, path := range []string{"/v1/account", "/v1/account/clips"} {
		read := one.ask(t, http.MethodGet, path, "", "x-recital-min-position", c.head().String())
		require.Equal(t, http.StatusOK, read.StatusCode)
	}
	one.awaitReady(t)
}
