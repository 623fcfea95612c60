package main_test

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/postgres"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// newKey creates another key as the account's owner.
func (c customer) newKey(t *testing.T, query string) customer {
	t.Helper()
	answer := requireOK(t, do(t, c.request(http.MethodGet, "/v1/account/new_api_key"+query, nil)))
	require.Equal(t, "no-store", answer.header.Get("Cache-Control"))
	var made struct{ APIKey, Masked string }
	answer.decode(t, &made)
	require.Equal(t, account.MaskAPIKey(made.APIKey), made.Masked)
	return customer{server: c.server, id: c.id, key: made.APIKey}
}

func TestOwnersMakeNameAndDeleteKeys(t *testing.T) {
	t.Parallel()
	s := share(t)
	first, stranger := s.openAccount("free"), s.openAccount("free")

	// when an owner creates a key for an integration, then it works at once and is named after it
	second := first.newKey(t, "?type=integration_3")
	require.Equal(t, 200, second.asks(t))
	keys := second.account(t).APIKeys
	require.Len(t, keys, 2)
	require.Nil(t, keys[0].Name)
	require.Equal(t, "integration_3", *keys[1].Name)
	require.Equal(t, account.MaskAPIKey(second.key), keys[1].Masked)

	// when it is renamed, then the new name is shown
	rename := func(by customer, key, name string) int {
		t.Helper()
		return do(t, by.request(http.MethodPost, "/v1/account/api_key/"+account.MaskAPIKey(key)+"/name",
			order{"name": name}.encode())).status
	}
	require.Equal(t, 200, rename(first, second.key, "<laptop> 2"))
	require.Equal(t, "<laptop> 2", *first.account(t).APIKeys[1].Name)
	require.Equal(t, 422, rename(first, second.key, "two\nlines"))
	require.Equal(t, 422, rename(first, second.key, strings.Repeat("x", account.MaxKeyName+1)))

	// and another account can neither rename nor delete it
	require.Equal(t, 404, rename(stranger, second.key, "mine"))
	require.Equal(t, 404,
		do(t, stranger.request(http.MethodDelete, "/v1/account/api_key/"+account.MaskAPIKey(second.key), nil)).status)

	// when it is deleted, then it is refused
	require.Equal(t, 200,
		do(t, first.request(http.MethodDelete, "/v1/account/api_key/"+account.MaskAPIKey(second.key), nil)).status)
	require.Equal(t, 401, second.asks(t))
	require.Len(t, first.account(t).APIKeys, 1)

	// and a HEAD request creates nothing
	require.Equal(t, 405, do(t, first.request(http.MethodHead, "/v1/account/new_api_key", nil)).status)
	require.Len(t, first.account(t).APIKeys, 1)
	require.NotContains(t, read(t, s.log), "rk_")
}

func TestOwnersAcceptTermsAndChooseEmail(t *testing.T) {
	t.Parallel()
	s := share(t)
	c := s.openAccount("free")
	require.False(t, c.account(t).AcceptedTOS)
	require.Equal(t, 200, do(t, c.request(http.MethodPost, "/v1/account/accept_tos", nil)).status)
	require.True(t, c.account(t).AcceptedTOS)
	require.Equal(t, 200, do(t, c.request(http.MethodPost, "/v1/account/set_email_prefs",
		strings.NewReader("wants_email=true"), "Content-Type", "application/x-www-form-urlencoded")).status)
	require.Equal(t, new(true), s.readLog().accounts[c.id].WantsEmail)
}

// postgresURL returns the URL of the private Postgres.
func (s *server) postgresURL() string {
	return postgres.SocketURL(filepath.Join(s.data, "postgres", "run"), postgres.Database)
}

// postgres connects to the private Postgres.
func (s *server) postgres() *pgx.Conn {
	s.t.Helper()
	connection, err := pgx.Connect(s.t.Context(), s.postgresURL())
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = connection.Close(context.Background()) })
	return connection
}

// holdKeyring blocks writing and erasing of keys until release is called.
func (s *server) holdKeyring() (release func()) {
	s.t.Helper()
	tx, err := s.postgres().Begin(s.t.Context())
	require.NoError(s.t, err)
	_, err = tx.Exec(s.t.Context(), `lock table keyring.account_keys in exclusive mode`)
	require.NoError(s.t, err)
	return func() { require.NoError(s.t, tx.Rollback(s.t.Context())) }
}

// hasKey reports whether the account's key exists.
func (s *server) hasKey(c customer) (has bool) {
	s.t.Helper()
	query := `select wrapped_key is not null from keyring.account_keys where account_id = $1`
	require.NoError(s.t, s.postgres().QueryRow(s.t.Context(), query, c.id).Scan(&has))
	return has
}

func (s *server) closing(c customer) account.Closing { return s.readLog().accounts[c.id].Closing }

func TestAClosedAccountIsErased(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	data := dataFolder(t)
	s := start(t, data)
	c, stranger := s.openAccount("indie"), s.openAccount("indie")
	const text = "Zyzzogeton sings."
	save := func(by customer) {
		t.Helper()
		require.Equal(t, 200, by.post(t, bytesRoute, order{"text": text, "voice": "leah", "debug": true}).status)
	}

	// given an account with clips, two keys, a socket and a stream
	for range 12 {
		save(c)
	}
	save(stranger)
	other := c.newKey(t, "")
	require.Equal(t, 12, c.clips(t).TotalClips)
	shown := c.clips(t).Clips[0]
	socket := other.talk(t, nil)
	stream := hold(t, other, long())
	_, err := io.CopyN(io.Discard, stream.response.Body, 1<<20) // more than the first sentence
	require.NoError(t, err)

	// when it is closed while the keyring is locked
	release := s.holdKeyring()
	answer := requireOK(t, do(t, c.request(http.MethodDelete, "/v1/account", nil)))
	require.JSONEq(t, `{"success":true}`, answer.text())

	// then its keys are refused at once, and their open streams and sockets end
	for _, key := range []customer{c, other} {
		require.Equal(t, 401, key.asks(t))
		require.Equal(t, 401, do(t, key.request(http.MethodDelete, "/v1/account", nil)).status)
	}
	_, code := socket.lastWords()
	require.Equal(t, websocket.ClosePolicyViolation, code)
	require.Error(t, stream.rest().err)

	// and when recitald is killed during the erasure
	s.eventually(func() bool { return len(s.blobFiles()) == 1 })
	require.Equal(t, account.Ending, s.closing(c))
	require.True(t, s.hasKey(c))
	s.kill()
	release()

	// then the next recitald resumes it
	s = start(t, data)
	s.eventually(func() bool { return s.closing(c) == account.ErasedOnce })
	require.False(t, s.hasKey(c))
	require.True(t, s.hasKey(stranger))
	require.Equal(t, 401, c.at(s).asks(t))
	require.Equal(t, 404, fetch(t, http.MethodGet, s.address+"/v1/account/clip/"+shown.ID).status)
	require.Equal(t, 1, stranger.at(s).clips(t).TotalClips)
	require.Equal(t, text, *stranger.at(s).clips(t).Clips[0].Text)

	// and the log can still be replayed without the key
	s.requireSealed("Zyzzogeton", "clip-saved", 13)
	s.recitalctl("projections", "rebuild", "--all", "--promote")
	s.requireSettledBooks()
	require.Equal(t, 1, stranger.at(s).clips(t).TotalClips)
	require.Equal(t, text, *stranger.at(s).clips(t).Clips[0].Text)
	for table, rows := range s.everyRow() {
		if strings.HasSuffix(table, ".todo_erase_clips") { // it waits for clips that are saved late
			continue
		}
		if strings.HasPrefix(table, "rm_account") || strings.HasPrefix(table, "rm_clips") {
			require.NotContains(t, rows, c.id, table)
		}
	}
}

// saveLate appends the event of an instance that was still saving a clip when the account was closed.
func (s *server) saveLate(c customer) (stream string) {
	s.t.Helper()
	log, registry := s.openLog()
	defer log.Close()
	stream, err := s.saveWithoutAudio(log, registry, c)
	require.NoError(s.t, err)
	return stream
}

func TestAClipSavedAfterItsAccountWasClosedIsErased(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := start(t, dataFolder(t), "--longest-stream=1s")
	for {
		// given a closed account that was erased, and a clip of it that is saved late
		c := s.openAccount("indie")
		require.Equal(t, 200, do(t, c.request(http.MethodDelete, "/v1/account", nil)).status)
		s.eventually(func() bool { return s.closing(c) != account.Ending })
		again := s.readLog().accounts[c.id].EraseAgainAt
		stream := s.saveLate(c)
		if time.Now().After(again) {
			continue // the second erasure was due before the clip was saved
		}

		// when no request can be running any longer, then the clip is deleted, and the to-do list has no entry for the
		// account
		s.eventually(func() bool { return s.closing(c) == account.ErasedForAll })
		var types []string
		eachEvent(t, s.node(), func(event eventlog.Decoded) {
			if event.Stream == stream {
				types = append(types, event.Type)
			}
		})
		require.Equal(t, []string{"clip-saved", "clip-deleted"}, types)
		database := s.postgres()
		s.eventually(func() bool {
			var due int
			require.NoError(t, database.QueryRow(t.Context(), `select count(*) from read_v1.todo_close_account where item = $1`,
				c.id).Scan(&due))
			return due == 0
		})
		return
	}
}

func TestTheAccountOfTheFirstStartMayBeClosed(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	data := dataFolder(t)
	s := start(t, data)
	require.Equal(t, 200, do(t, s.operator().request(http.MethodDelete, "/v1/account", nil)).status)
	s.interrupt()

	// then recitald starts without it, and other accounts can be opened
	s = start(t, data)
	require.Contains(t, s.said(), "API key      ended when the operator account was closed")
	require.Equal(t, 200, s.openAccount("free").asks(t))
}
