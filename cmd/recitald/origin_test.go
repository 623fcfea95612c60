package main_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/eventlog"
)

// events reads the whole log of a running recitald, by the correlation of each event.
func (s *server) events() map[string][]eventlog.Decoded {
	s.t.Helper()
	events := map[string][]eventlog.Decoded{}
	eachEvent(s.t, s.node(), func(event eventlog.Decoded) {
		events[event.Meta.CorrelationID] = append(events[event.Meta.CorrelationID], event)
	})
	return events
}

// Whoever reads the log finds who did what, and by which request.
func TestEventsSayWhoDidItAndByWhichRequest(t *testing.T) {
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

	// when she opens an account, and the account speaks, keeps a clip, says what it thinks and revokes its key
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

	// then each event holds the id that the reply of its request showed, and who asked
	alice := eventlog.Actor{Kind: eventlog.ActorOperator, Name: "alice"}
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
				require.Equal(t, events[id][0].Meta.CommandID, event.Meta.CausationID, "it was caused by the command that reserved")
			}
		}
		require.Equal(t, want.types, types)
	}
}
