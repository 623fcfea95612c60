package audit_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
)

// ownListed is a page of an owner's view.
type ownListed struct {
	Entries []struct {
		At                 int64
		Kind, Sentence, By string
		Address            *string
		APIKey             *string `json:"api_key"`
		Session            *string `json:"session_id"`
	}
	Next *string `json:"next_page_token"`
}

func (d *server) own(t *testing.T, address, who string, query ...string) (page ownListed) {
	t.Helper()
	response, body := webtest.Send(t, http.MethodGet, address+"/v1/account/activity?"+of(query...).Encode(), "",
		"x-api-key", who)
	require.Equal(t, http.StatusOK, response.StatusCode, body)
	require.Equal(t, "no-store", response.Header.Get("Cache-Control"))
	require.NoError(t, json.Unmarshal([]byte(body), &page))
	return page
}

// Owners see their own entries, newest first, without the names and reasons of staff.
func TestOwnersSeeWhatWasDoneInTheirAccounts(t *testing.T) {
	d := newServer(t)
	address := webtest.Serve(t, web.Config{Routes: d.api.Routes(), Authenticator: webtest.Keys{}})
	d.opened("a1", "ada@example.org")
	d.opened("a2", "bob@example.org")
	at := time.Now().UTC().Add(time.Minute).Truncate(time.Second)
	command := uuid.New()
	d.writeFrom(t, d.seal("a1", "203.0.113.7", eventlog.FromUse(command)), command,
		eventlog.Actor{Kind: eventlog.ActorAccount, Account: "a1", Session: "s0"}, account.Stream("a1"), 1, at,
		account.APIKeyCreated{Account: "a1", Masked: "rk_…xyz", At: at})
	d.writeAs(t, eventlog.Actor{Kind: eventlog.ActorOperator, Name: "otto", Role: "operator", Address: "192.0.2.9",
		Reason: "Ticket 8"}, account.Stream("a1"), 2, at.Add(time.Second), account.OperatorGranted{Account: "a1", At: at})
	d.list(t, auditor, "sessions", of("account", "a1", "personal", "true", "reason", "Ticket 9"))

	all := d.own(t, address, "a1")
	require.Nil(t, all.Next)
	require.Len(t, all.Entries, 5)
	require.Equal(t, []any{"account-operator-granted", "Account a1 was granted the role of an operator.", "operator"},
		[]any{all.Entries[0].Kind, all.Entries[0].Sentence, all.Entries[0].By})
	require.Nil(t, all.Entries[0].Address)
	created := all.Entries[1]
	require.Equal(t, "API key rk_…xyz of account a1 was created.", created.Sentence)
	require.Equal(t, []any{at.Unix(), "owner", "s0", "203.0.113.7"},
		[]any{created.At, created.By, *created.Session, *created.Address})
	require.Nil(t, created.APIKey)
	require.Equal(t, "account-opened", all.Entries[4].Kind)
	require.Empty(t, d.own(t, address, "a1", "area", "billing").Entries)

	var kinds []string
	var token string
	for range 3 {
		page := d.own(t, address, "a1", "limit", "2", "page_token", token)
		for _, e := range page.Entries {
			kinds = append(kinds, e.Kind)
		}
		if page.Next == nil {
			break
		}
		token = *page.Next
	}
	require.Len(t, kinds, 5)
	for i, e := range all.Entries {
		require.Equal(t, e.Kind, kinds[i])
	}
	for query, status := range map[string]int{
		"area=operators": 422, "limit=0": 422, "limit=101": 422, "page_token=x": 400, "page_token=MS4yLjMuNC41LjY": 400,
	} {
		response, _ := webtest.Send(t, http.MethodGet, address+"/v1/account/activity?"+query, "", "x-api-key", "a1")
		require.Equal(t, status, response.StatusCode, query)
	}
	_, err := url.ParseQuery(token)
	require.NoError(t, err, "a token needs no escapes")
}
