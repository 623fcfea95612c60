package synthesis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/providers/blobs/folder"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/wordtimes"
)

func TestMain(m *testing.M) { webtest.Main(m) }

func openKeys(t testing.TB, pool *pgxpool.Pool) *pgkeys.Keyring {
	t.Helper()
	keys, err := pgkeys.New(pgkeys.Config{
		Pool: pool, MasterKey: bytes.Repeat([]byte{1}, pgkeys.MasterKeySize), Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return keys
}

func openStore(t testing.TB) *folder.Store {
	t.Helper()
	store, err := folder.Open(folder.Config{
		Dir: t.TempDir(), Instance: "test", Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return store
}

// nobody rejects every key: the routes here are public.
type nobody struct{}

func (nobody) APIKey(context.Context, string) (web.Principal, error) {
	return web.Principal{}, errors.New("no route here takes a key")
}

func TestTimestampsAreReadByTheirAddress(t *testing.T) {
	// given word times of a reply, and a clock
	pool := pgtest.New(t)
	store := openStore(t)
	var late atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
	times := wordtimes.New(openKeys(t, pool), store, now)
	made := links.New("", []byte("secret"))
	routes := (&API{Times: times, Links: made, LongestReply: 11 * time.Minute, Now: now}).Routes()
	host := strings.TrimPrefix(webtest.Serve(t, web.Config{Routes: routes, Authenticator: nobody{}}), "http://")
	list := []speech.Timing{{Text: "", Start: 0, Duration: 0.25}, {Text: "Hello", Start: 0.25, Duration: 0.5},
		{Text: "", Start: 0.75, Duration: 0}}
	id, err := times.DrawID()
	require.NoError(t, err)
	address := made.WordTimes(host, id)

	// while the audio is under way, the error tells the client to retry
	response, body := webtest.Send(t, http.MethodGet, address, "")
	require.Equal(t, http.StatusNotFound, response.StatusCode, body)
	require.Contains(t, body, "There are no word times yet")
	require.Equal(t, "1", response.Header.Get("Retry-After"))
	require.Equal(t, "true", response.Header.Get("x-should-retry"))

	// when it has ended, then they are there, under the names of both dialects, and no cache may keep them
	require.NoError(t, times.Put(t.Context(), "a1", id, list))
	response, body = webtest.Send(t, http.MethodGet, address, "")
	require.Equal(t, http.StatusOK, response.StatusCode, body)
	require.Equal(t, "no-store", response.Header.Get("Cache-Control"))
	var read map[string][]speech.Timing
	require.NoError(t, json.Unmarshal([]byte(body), &read))
	require.Equal(t, map[string][]speech.Timing{"timestamps": list, "durations": list}, read)

	// but only with a valid signature
	forged, _, _ := strings.Cut(address, "?")
	other, err := times.DrawID()
	require.NoError(t, err)
	for _, wrong := range []string{
		forged + "?sig=", forged + "?sig=AAAAAAAAAAAAAAAAAAAAAA", strings.Replace(address, id, other, 1), address + "A",
		links.New("", []byte("another")).WordTimes(host, id),
		strings.Replace(made.ClipAudio(host, id), "account/clip/"+id+"/audio", "ai/speech/timestamps/"+id, 1),
	} {
		response, body := webtest.Send(t, http.MethodGet, wrong, "")
		require.Equal(t, http.StatusForbidden, response.StatusCode, wrong)
		require.NotContains(t, body, "Hello")
		require.Equal(t, "no-store", response.Header.Get("Cache-Control"))
	}
	response, _ = webtest.Send(t, http.MethodGet, forged, "")
	require.Equal(t, http.StatusUnprocessableEntity, response.StatusCode)

	// when their time is over, then they have expired
	late.Store(int64(12 * time.Minute))
	response, body = webtest.Send(t, http.MethodGet, address, "")
	require.Equal(t, http.StatusNotFound, response.StatusCode)
	require.Contains(t, body, "The word times have expired")
	require.Empty(t, response.Header.Get("Retry-After"))

	// and a store that is unavailable does not count as expiry
	late.Store(0)
	away := wordtimes.New(openKeys(t, pool), store, now) // with a keyring whose cache is empty
	_, err = pool.Exec(t.Context(), `alter schema keyring rename to keyring_away`)
	require.NoError(t, err)
	routes = (&API{Times: away, Links: made, LongestReply: 11 * time.Minute, Now: now}).Routes()
	host = strings.TrimPrefix(webtest.Serve(t, web.Config{Routes: routes, Authenticator: nobody{}}), "http://")
	response, body = webtest.Send(t, http.MethodGet, made.WordTimes(host, id), "")
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode, body)
}
