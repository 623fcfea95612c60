package app_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// act sends an operator's request with a reason to the admin address.
func (i instance) act(t *testing.T, method, path string, body any) (status int, reply string) {
	t.Helper()
	sent, err := json.Marshal(body)
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+i.AdminAddr()+path, bytes.NewReader(sent))
	require.NoError(t, err)
	request.Header.Set("authorization", "Bearer "+secret(t, i.cfg, "operator-token"))
	request.Header.Set("content-type", "application/json")
	request.Header.Set("x-recital-reason", "of a newer release")
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(got)
}

// parked returns the read models that could not handle an event.
func (i instance) parked(t *testing.T) (names []string) {
	t.Helper()
	var list struct {
		Parked []struct {
			Name string `json:"name"`
		} `json:"parked"`
	}
	require.NoError(t, json.Unmarshal(i.operate(t, http.MethodGet, "/admin/projections/parked", nil), &list))
	for _, e := range list.Parked {
		names = append(names, e.Name)
	}
	return names
}

// customer opens an account and returns its id and key.
func (i instance) customer(t *testing.T) (id, key string) {
	t.Helper()
	var opened struct {
		AccountID string `json:"account_id"`
		APIKey    string `json:"apikey"`
	}
	require.NoError(t, json.Unmarshal(i.operate(t, http.MethodPost, "/admin/accounts",
		map[string]string{"plan": "indie"}), &opened))
	return opened.AccountID, opened.APIKey
}

// status returns the status of a request with a key.
func (i instance) status(t *testing.T, key, method, path string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+i.PublicAddr()+path, nil)
	require.NoError(t, err)
	request.Header.Set("x-api-key", key)
	return do(t, request).StatusCode
}

// broken appends an event that no release can decode, because its metadata is invalid.
func (c *cluster) broken(stream string) (id uuid.UUID) {
	c.t.Helper()
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: time.Now()}
	events, err := c.registry.Encode(uuid.New(), 0, meta, account.TermsAccepted{At: time.Now()})
	require.NoError(c.t, err)
	events[0].Metadata = []byte(`[]`)
	_, err = c.log.Append(c.t.Context(), stream, c.end(stream), events)
	require.NoError(c.t, err)
	return events[0].ID
}

func TestASkippedEventHidesNoRevocation(t *testing.T) {
	longtest.Only(t)
	for name, spoil := range map[string]func(c *cluster, stream string) uuid.UUID{
		"of an unknown type": func(c *cluster,
			stream string) uuid.UUID {
			return c.stranger(stream, "account-adopted", `{}`)
		},
		"with broken metadata": (*cluster).broken,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// given two instances, and an account with an undecodable event in its stream
			c := newCluster(t)
			one := c.open(c.shared)
			two := c.open(c.member())
			one.awaitReady(t)
			id, key := one.customer(t)
			require.Equal(t, 200, one.status(t, key, http.MethodGet, "/v1/account"))
			signedIn := one.signIn(t, id)
			before := time.Now()
			event := spoil(c, "account-"+id)

			// then its credentials are unknown, and a query of its past is refused with the reason
			asOf := "/admin/accounts/" + id + "?as_of=" + url.QueryEscape(before.UTC().Format(time.RFC3339Nano))
			for _, i := range []instance{one, two} {
				require.Eventually(t, func() bool { return i.status(t, key, http.MethodGet, "/v1/account") == 503 }, patience,
					pause)
				status, reply := i.act(t, http.MethodGet, asOf, nil)
				require.Equal(t, 503, status, reply)
				require.Contains(t, reply, "parked skip")
			}

			// when the event is skipped through one of them, then both are ready, but still refuse the account's credentials
			require.Eventually(t, func() bool { return len(one.parked(t)) > 2 }, patience, pause)
			c.skip(one, event)
			for _, i := range []instance{one, two} {
				i.awaitReady(t)
				require.Eventually(t, func() bool { return len(i.parked(t)) == 0 }, patience, pause)
				require.Equal(t, 503, i.status(t, key, http.MethodGet, "/v1/account"))
				require.Equal(t, 503, signedIn.ask(i, http.MethodGet, "/v1/account").StatusCode)
			}
			_, reply := one.act(t, http.MethodGet, "/admin/skips", nil)
			require.Contains(t, reply, `"event_id":"`+event.String()+`"`)
			require.Contains(t, reply, `"role":"operator","reason":"of a newer release"`)
			require.Contains(t, reply, `"unconfirmed":true`)
			for _, at := range []string{asOf, "/admin/accounts/" + id} {
				status, reply := one.act(t, http.MethodGet, at, nil)
				require.Equal(t, 200, status, reply)
			}
			require.Eventually(t, func() bool {
				_, audited := one.act(t, http.MethodGet, "/admin/audit/sessions?account="+id, nil)
				return bytes.Contains([]byte(audited), []byte("event-skipped"))
			}, patience, pause)

			// when an operator confirms that it revokes nothing, then the credentials are admitted
			status, reply := two.act(t, http.MethodPost, "/admin/skips/"+event.String()+"/confirm", nil)
			require.Equal(t, 200, status, reply)
			for _, i := range []instance{one, two} {
				require.Eventually(t, func() bool { return i.status(t, key, http.MethodGet, "/v1/account") == 200 }, patience,
					pause)
				require.Equal(t, 200, signedIn.ask(i, http.MethodGet, "/v1/account").StatusCode)
			}

			// when the event is unskipped, then the account cannot be read, and the reply names the read models that passed it
			status, reply = one.act(t, http.MethodDelete, "/admin/skips/"+event.String(), nil)
			require.Equal(t, 200, status, reply)
			require.Contains(t, reply, `"account"`)
			for _, i := range []instance{one, two} {
				require.Eventually(t, func() bool { return i.status(t, key, http.MethodGet, "/v1/account") == 503 }, patience,
					pause)
			}
			status, _ = one.act(t, http.MethodDelete, "/admin/accounts/"+id, nil)
			require.Equal(t, 503, status)

			// and once it is skipped again, an operator can close the account without a confirmation
			status, reply = two.act(t, http.MethodPost, "/admin/skips",
				map[string]any{"event_id": event, "stream": "account-" + id, "revision": c.revisionOf("account-"+id, event)})
			require.Equal(t, 200, status, reply)
			status, reply = two.act(t, http.MethodDelete, "/admin/accounts/"+id, nil)
			require.Equal(t, 200, status, reply)
			status, _ = two.act(t, http.MethodPost, "/admin/skips/"+event.String()+"/confirm", nil)
			require.Equal(t, 200, status)
			for _, i := range []instance{one, two} {
				require.Eventually(t, func() bool { return i.status(t, key, http.MethodGet, "/v1/account") == 401 }, patience,
					pause)
			}
		})
	}
}

func (c *cluster) revisionOf(stream string, id uuid.UUID) (revision uint64) {
	c.t.Helper()
	for event, err := range c.log.ReadStream(c.t.Context(), stream, 0) {
		require.NoError(c.t, err)
		if event.ID == id {
			return event.Revision
		}
	}
	c.t.Fatalf("%s has no event %s", stream, id)
	return 0
}
