package main_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/eventlog/esdb"
)

// events reads the whole log of a running recitald, by the correlation of each event.
func (s *server) events() map[string][]eventlog.Decoded {
	s.t.Helper()
	registry, err := app.Registry()
	require.NoError(s.t, err)
	log, err := esdb.Open(esdb.Config{Socket: filepath.Join(s.data, "eventnode", "node.sock"), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	require.NoError(s.t, err)
	defer log.Close()

	events := map[string][]eventlog.Decoded{}
	subscription := log.Subscribe(s.t.Context(), eventlog.Start())
	for delivery := range subscription.Deliveries() {
		if delivery.Kind == eventlog.KindCaughtUp {
			return events
		}
		if delivery.Kind != eventlog.KindEvent {
			continue
		}
		decoded, err := registry.Decode(delivery.Event)
		require.NoError(s.t, err)
		events[decoded.Meta.CorrelationID] = append(events[decoded.Meta.CorrelationID], decoded)
	}
	require.Fail(s.t, "the log cannot be read", subscription.Err())
	return nil
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
	opinion := c.post(t, "/v1/ai/speech/feedback", order{"id": "g1", "rating": "thumbsUp"})
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
