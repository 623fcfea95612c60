package main_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// events returns the events of a running recitald's log by correlation id.
func (s *server) events() map[string][]eventlog.Decoded {
	s.t.Helper()
	events := map[string][]eventlog.Decoded{}
	eachEvent(s.t, s.node(), func(event eventlog.Decoded) {
		events[event.Meta.CorrelationID] = append(events[event.Meta.CorrelationID], event)
	})
	return events
}

// Each event in the log records its actor and request.
func TestEventsHaveActorAndRequest(t *testing.T) {
	t.Parallel()
	// given an operator with a name
	const token = "0123456789abcdef0123456789abcdef"
	tokens := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(tokens, fmt.Appendf(nil, "alice operator %x\n", sha256.Sum256([]byte(token))), 0o600))
	s := start(t, dataFolder(t), "--operator-token-file="+tokens)
	administer := func(path, body string) reply {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.admin+path, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Content-Type", "application/json")
		return do(t, request)
	}

	// when she opens an account, and the account synthesises, saves a clip, gives feedback and revokes its key
	opening := administer("/admin/accounts", `{"plan":"pro"}`)
	require.Equal(t, 200, opening.status, opening.text())
	var opened struct {
		ID     string `json:"account_id"`
		Key    string `json:"apikey"`
		Masked string `json:"masked"`
	}
	opening.decode(t, &opened)
	c := customer{server: s, id: opened.ID, key: opened.Key}
	credit := administer("/admin/accounts/"+c.id+"/credit", `{"characters":5}`)
	speech := c.post(t, bytesRoute, order{"text": "Hello world.", "voice": "leah", "debug": true})
	opinion := c.post(t, "/v1/ai/speech/feedback", order{"id": speech.header.Get("X-Generation-Id"), "rating": "thumbsUp"})
	revoked := do(t, c.request(http.MethodDelete, "/v1/account/api_key/"+opened.Masked, nil))

	// then each event holds its actor and the id in the reply of its request
	alice := eventlog.Actor{Kind: eventlog.ActorOperator, Name: "alice", Role: "operator", Address: "127.0.0.1"}
	account := eventlog.Actor{Kind: eventlog.ActorAccount, Account: c.id, Key: opened.Masked}
	events := s.events()
	for _, want := range []struct {
		reply reply
		actor eventlog.Actor
		types []string
	}{
		{opening, alice, []string{"apikey-issued", "account-opened", "account-api-key-created"}},
		{credit, alice, []string{"usage-period-opened", "usage-credit-granted"}},
		{speech, account, []string{"usage-reserved", "usage-settled", "clip-saved"}},
		{opinion, account, []string{"feedback-given"}},
		{revoked, account, []string{"account-api-key-revoked"}},
	} {
		require.Equal(t, 200, want.reply.status, want.reply.text())
		id := want.reply.header.Get("Request-Id")
		require.Regexp(t, `^req_\w{22}$`, id)
		var types []string
		for _, event := range events[id] {
			types = append(types, event.Type)
			require.Equal(t, want.actor, event.Meta.Actor, event.Type)
			if event.Type == "usage-settled" {
				require.Equal(t, events[id][0].Meta.CommandID, event.Meta.CausationID, "the reservation is its cause")
			}
		}
		require.Equal(t, want.types, types)
	}
}

// addressed is a transport that gives each request a different client address, and records the addresses by request id.
type addressed struct {
	last int
	of   map[string]string
}

func (a *addressed) RoundTrip(r *http.Request) (*http.Response, error) {
	a.last++
	address := fmt.Sprintf("203.0.113.%d", a.last)
	r = r.Clone(r.Context())
	r.Header.Set("X-Forwarded-For", address)
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		a.of[response.Header.Get("Request-Id")] = address
	}
	return response, err
}

// spoken are the types of the frequent events of syntheses, which have no address.
var spoken = []string{"usage-period-opened", "usage-reserved", "usage-settled", "clip-saved"}

// Events have the client's address, encrypted. Only auditors can read it.
func TestEventsOfClientsHaveAnEncryptedAddress(t *testing.T) {
	t.Parallel()
	s := start(t, dataFolder(t), "--trusted-proxies=127.0.0.1")
	v, from := s.person(), &addressed{of: map[string]string{}}
	v.client.Transport = from
	send := func(request *http.Request) reply {
		response, err := (&http.Client{Transport: from}).Do(request.WithContext(t.Context()))
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, 200, response.StatusCode, "%s: %s", request.URL.Path, body)
		return reply{response.StatusCode, response.Header, body}
	}
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}

	// given a person who makes requests, each from a different address
	c := customer{server: s, id: v.signIn("ada@example.org")}
	var made struct{ APIKey, Masked string }
	v.get(s.address+"/v1/account/new_api_key").decode(t, &made)
	c.key = made.APIKey
	send(c.request(http.MethodPost, "/v1/account/api_key/"+made.Masked+"/name", order{"name": "home"}.encode()))
	send(c.request(http.MethodPost, "/v1/account/accept_tos", nil))
	send(c.request(http.MethodPost, "/v1/account/set_email_prefs", strings.NewReader("wants_email=true"), form...))
	send(c.request(http.MethodPut, "/v1/ai/voice/leah", order{"starred": true}.encode()))
	send(c.request(http.MethodPost, "/payments/setup-intent", order{}.encode()))
	speech := send(c.request(http.MethodPost, bytesRoute,
		order{"text": "Hello world.", "voice": "leah", "debug": true}.encode()))
	send(c.request(http.MethodPost, "/v1/ai/speech/feedback", order{"id": speech.header.Get("X-Generation-Id"),
		"rating": "thumbsUp"}.encode()))
	s.eventually(func() bool { return len(c.clips(t).Clips) == 1 })
	send(c.request(http.MethodDelete, "/v1/account/clip/"+c.clips(t).Clips[0].ID, nil))
	config, code := s.installs("site")
	send(c.request(http.MethodPost, "/v1/account/hosting/projects",
		strings.NewReader(url.Values{"config_id": {config}, "code": {code}}.Encode()), form...))
	send(c.request(http.MethodPost, "/v1/account/hosting/env_vars",
		strings.NewReader(url.Values{"config_id": {config}, "add_project_names": {"site"}}.Encode()), form...))
	require.Equal(t, 200, v.get(s.address+"/auth/oauth/logout").status)
	send(c.request(http.MethodPost, "/v1/account/sessions/revoke_all", nil))
	send(c.request(http.MethodDelete, "/v1/account/api_key/"+made.Masked, nil))

	// then each event has an encrypted address, except those of speech
	var sealed []string
	eachEvent(t, s.node(), func(event eventlog.Decoded) {
		require.NotContains(t, string(event.Metadata)+string(event.Data)+string(event.Meta.From), "203.0.113.", event.Type)
		asked := from.of[event.Meta.CorrelationID] != "" && event.Meta.Actor.Kind == eventlog.ActorAccount
		require.Equal(t, asked && !slices.Contains(spoken, event.Type), len(event.Meta.From) > 0, event.Type)
		if len(event.Meta.From) > 0 {
			sealed = append(sealed, event.Type)
		}
	})
	require.Subset(t, sealed, []string{
		"identity-claimed", "account-opened", "account-profile-recorded", "session-opened", "apikey-issued",
		"account-api-key-created", "account-api-key-renamed",
		"account-terms-accepted", "account-email-preferences-set", "voice-starred", "subscription-change-requested",
		"subscription-change-agreed", "feedback-given",
		"clip-deleted", "hosting-connected", "hosting-variable-begun", "hosting-variable-set", "session-ended",
		"account-sessions-revoked", "account-api-key-revoked",
	})

	// and an auditor can read the addresses
	for area, atLeast := range map[string]int{"sessions": 12, "billing": 2} {
		shown := map[string]bool{}
		entries := json.NewDecoder(bytes.NewReader(s.recitalctl("audit", area, "--account", c.id, "--personal", "--reason",
			"Ticket 7", "--format", "json")))
		for entries.More() {
			var entry struct {
				Sentence, Correlation string
				Actor                 struct{ Kind string }
				Personal              map[string]string
			}
			require.NoError(t, entries.Decode(&entry))
			if address := from.of[entry.Correlation]; entry.Actor.Kind == "account" &&
				!strings.Contains(entry.Sentence, "began the period") {
				shown[entry.Sentence] = true
				require.Equal(t, address, entry.Personal["address"], entry.Sentence)
				require.Contains(t, entry.Sentence, ", from "+address+".")
			}
		}
		require.GreaterOrEqual(t, len(shown), atLeast, area)
	}
}
