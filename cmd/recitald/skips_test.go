package main_test

import (
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// spoil appends an event that no release can decode to a stream: of an unknown type, or with invalid metadata.
func spoil(t *testing.T, to esdb.Config, stream, kind, metadata string) uuid.UUID {
	t.Helper()
	log, err := esdb.Open(to)
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	event := eventlog.Proposed{ID: uuid.New(), Type: kind, Data: []byte(`{}`), Metadata: []byte(metadata)}
	require.Eventually(t, func() bool { // the service may append at the same time
		end := eventlog.NoStream
		for last, err := range log.ReadStreamBackwards(t.Context(), stream) {
			require.NoError(t, err)
			end = eventlog.Revision(last.Revision)
			break
		}
		_, err := log.Append(t.Context(), stream, end, []eventlog.Proposed{event})
		return err == nil
	}, patience, 10*time.Millisecond)
	return event.ID
}

const ofANewerRelease = `{"v": 1, "actor": {"kind": "system"}, "time": "2026-11-23T12:00:00Z"}`

// skip skips an event with one command and returns its output. It retries, because an event that a read model is
// retrying is not in the list.
func (s *server) skip(event uuid.UUID) (said string) {
	s.t.Helper()
	s.eventually(func() bool {
		said = s.notes("projections", "parked", "skip", event.String(), "--reason", "of a newer release", "--yes")
		return regexp.MustCompile(`^Skipped: event \d+ of `).MatchString(said)
	})
	return said
}

// An older release meets such events after a newer one wrote them.
func TestEventsThatCannotBeDecodedDoNotEndRecovery(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given an account with a clip, a closed account, and undecodable events in their streams
	data := dataFolder(t)
	s := start(t, data)
	c, gone := s.openAccount("indie"), s.openAccount("indie")
	kept, lost := c.saveClip(t, prose(60)), gone.saveClip(t, prose(50))
	gone.closeAccount(t)
	strange := spoil(t, s.node(), "account-"+c.id, "account-adopted", ofANewerRelease)
	broken := spoil(t, s.node(), "account-"+gone.id, "account-terms-accepted", `[]`)
	ofClip := spoil(t, s.node(), "clip-"+kept, "clip-painted", ofANewerRelease)
	key := "--master-key-file=" + filepath.Join(data, "master-key")

	// then a backup is sound and can be restored, and the closed account stays closed
	early := filepath.Join(t.TempDir(), "early")
	s.backup(early)
	require.NotContains(t, s.notes("backup", early, "--check-only"), "damaged")
	other := newFolder(t)
	said, err := s.tool("restore", early, "--data-dir", other, key).CombinedOutput()
	require.NoError(t, err, string(said))
	require.Positive(t, owned(t, kept, other))
	require.Zero(t, owned(t, lost, other))

	// when recitald starts and rebuilds its read models
	database := s.postgres()
	_, err = database.Exec(t.Context(), "update feed.checkpoints set epoch = 0")
	require.NoError(t, err)
	require.NoError(t, database.Close(t.Context()))
	s.kill()
	s = start(t, data)

	// then operators skip each event with one command, and see the possible effects
	s.eventually(func() bool {
		return len(regexp.MustCompile(strange.String()).FindAllString(s.notes("projections", "parked", "list"), -1)) == 1
	})
	require.Contains(t, s.skip(strange), "account "+c.id)
	require.Contains(t, s.skip(broken), "account "+gone.id)
	require.Contains(t, s.skip(ofClip), "missing from now on")
	s.eventually(s.isReady)
	require.Equal(t, 503, do(t, c.at(s).request("GET", "/v1/account", nil)).status)
	require.Contains(t, s.notes("projections", "parked", "skipped"), strange.String())
	require.Contains(t, s.notes("projections", "parked", "skip", uuid.NewString(), "--reason", "a guess", "--yes"),
		"There is no such parked event")

	// when a backup is drilled and restored, then the service works there without the events
	late := filepath.Join(t.TempDir(), "late")
	s.backup(late)
	said, err = s.tool("restore", "--check", late, key, "--scratch", newFolder(t)).CombinedOutput()
	require.NoError(t, err, string(said))
	s.kill()
	s.losePostgres()

	// and when Postgres is lost, then the keyring can be imported, and the service recovers
	s = start(t, data)
	s.eventually(s.lacks("the log's keyring"))
	require.Contains(t, s.notes("keyring", "import", late), s.keyring().Log)
	s.eventually(s.isReady)
	c, gone = c.at(s), gone.at(s)
	require.True(t, s.keyErased(gone))
	require.Equal(t, 503, do(t, c.request("GET", "/v1/account", nil)).status)
	require.Contains(t, s.notes("projections", "parked", "confirm", strange.String(), "--reason", "read it"), "Confirmed")
	text, _ := c.hear(t, kept)
	require.Equal(t, prose(60), text)

	// and an operator can undo a skip, and close an account with a skipped event
	require.Contains(t, s.notes("projections", "parked", "unskip", ofClip.String(), "--reason", "upgraded"),
		"projections rebuild")
	require.Contains(t, s.notes("accounts", "close", c.id, "--reason", "asked for", "--yes"), "Closed")
	s.eventually(func() bool { return do(t, c.request("GET", "/v1/account", nil)).status == 401 })
}
