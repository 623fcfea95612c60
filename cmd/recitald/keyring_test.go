package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// keyringIDs is the output of recitalctl keyring.
type keyringIDs struct{ Log, Postgres string }

func (s *server) keyring() (ids keyringIDs) {
	s.t.Helper()
	require.NoError(s.t, json.Unmarshal(s.recitalctl("keyring", "--format", "json"), &ids))
	return ids
}

// abandonKeyring abandons a lost keyring, as an operator does, and returns when the service is ready again.
func (s *server) abandonKeyring() {
	s.t.Helper()
	s.eventually(s.lacks("the log's keyring"))
	s.recitalctl("keyring", "abandon", s.keyring().Log, "--reason", "The backup is lost")
	s.eventually(s.isReady)
}

func TestAPostgresWithoutTheKeyringOfTheLogIsNotUsed(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given a log with clips, and a lost Postgres
	data := dataFolder(t)
	s := start(t, data)
	c := s.openAccount("indie")
	require.Equal(t, 200, c.post(t, bytesRoute, order{"text": prose(50), "voice": "leah", "debug": true}).status)
	known := s.keyring().Log
	require.Equal(t, keyringIDs{Log: known, Postgres: known}, s.keyring())
	s.kill()
	s.losePostgres()

	// then recitald is not ready on an empty one after any start, and gives the reason and the remedy
	for range 2 {
		s.kill()
		s = start(t, data)
		c = c.at(s)
		require.Contains(t, s.missing(), "the log's keyring")
		require.Equal(t, keyringIDs{Log: known}, s.keyring())
		require.Contains(t, read(t, s.log), known)
		require.Contains(t, read(t, s.log), "recitalctl keyring abandon")
		require.Contains(t, s.notes("keyring"), "recitalctl keyring abandon "+known)
		require.Contains(t, s.notes("doctor"), "the log's keyring")
	}

	// and requests without Postgres are served, while others get Retry-After
	require.Equal(t, 200, c.post(t, bytesRoute, order{"text": prose(50), "voice": "leah"}).status)
	for _, path := range []string{"/v1/account", "/v1/account/clips"} {
		refused := once(t, c.request(http.MethodGet, path, nil))
		require.Equal(t, 503, refused.status, refused.text())
		require.NotEmpty(t, refused.header.Get("Retry-After"))
	}

	// when another keyring is named, then it is refused
	require.Contains(t, s.notes("keyring", "abandon", "00000000-0000-0000-0000-000000000000", "--reason",
		"The backup is lost"), "The log has another keyring")
	require.Equal(t, keyringIDs{Log: known}, s.keyring())

	// when the log's is abandoned, then recitald resumes, and clips are saved and read again
	s.abandonKeyring()
	require.Equal(t, 200, c.post(t, bytesRoute, order{"text": prose(60), "voice": "leah", "debug": true}).status)
	s.eventually(func() bool { return c.clips(t).TotalClips == 2 })
	require.Equal(t, prose(60), *c.clips(t).Clips[0].Text)
	lost := c.clips(t).Clips[1]
	require.Nil(t, lost.Text)
	require.Equal(t, 404, fetch(t, http.MethodGet, lost.URL).status)
	require.Equal(t, 200, do(t, c.request(http.MethodDelete, "/v1/account/clip/"+lost.ID, nil)).status)
	require.Len(t, s.blobFiles(), 1)

	// and the log records the operator and the reason, once
	s.recitalctl("keyring", "abandon", known, "--reason", "The backup is lost")
	var abandoned []eventlog.Decoded
	eachEvent(t, s.node(), func(event eventlog.Decoded) {
		if _, ok := event.Event.(keyring.Abandoned); ok {
			abandoned = append(abandoned, event)
		}
	})
	require.Len(t, abandoned, 1)
	require.Equal(t, eventlog.Actor{Kind: eventlog.ActorOperator, Name: "operator", Role: "operator", Address: "127.0.0.1",
		Reason: "The backup is lost"}, abandoned[0].Meta.Actor)
	require.False(t, abandoned[0].Meta.Time.IsZero())
	require.Equal(t, keyringIDs{Log: s.keyring().Log, Postgres: s.keyring().Log}, s.keyring())
	require.Contains(t, s.notes("keyring", "abandon", s.keyring().Log, "--reason", "The backup is lost"),
		"nothing is to be abandoned")

	// and it is ready from the next start on
	s.interrupt()
	s = start(t, data)
	s.eventually(s.isReady)

	// but not with another master key
	s.interrupt()
	require.NoError(t, os.WriteFile(filepath.Join(data, "master-key"), []byte(strings.Repeat("ab", 32)), 0o600))
	refused := prepare(t, data)
	refused.launch([]string{"--http-addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0", "--data-dir=" + data})
	t.Cleanup(refused.kill)
	refused.awaitEnd()
	require.Error(t, refused.err)
	require.Contains(t, read(t, refused.log), "another master key")
}

// The rows of another installation are never served.
func TestAPostgresOfAnotherLogIsNotUsed(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given two logs with the same master key, each with its Postgres
	first, second := outsideServices(t), outsideServices(t)
	one, other := first.launch(t), second.launch(t)
	one.awaitRunning()
	other.awaitRunning()
	one.eventually(one.isReady)
	other.eventually(other.isReady)
	c := one.openAccount("indie")
	_, err := c.speak(100)
	require.NoError(t, err)

	// when an instance of the first is started with the Postgres of the second
	mixed := first
	mixed.postgres = second.postgres
	s := mixed.launch(t)
	s.awaitRunning()

	// then it does not use that Postgres, and the other instances are undisturbed
	s.eventually(s.lacks("the log's keyring"))
	require.Equal(t, keyringIDs{Log: one.keyring().Log, Postgres: other.keyring().Log}, s.keyring())
	require.Equal(t, 503, once(t, c.at(s).request(http.MethodGet, "/v1/account", nil)).status)
	require.EqualValues(t, 100, c.usage(t))
	require.Empty(t, other.missing())
}
