package voices

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	voicesevents "github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain/star"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/internal/speech/voices"
	projections "github.com/recital-tts/recital/projections/voices"
	"github.com/recital-tts/recital/readapi"
)

func TestMain(m *testing.M) { webtest.Main(m) }

// server serves the voices of a world.
type server struct {
	*feedtest.World
	t       testing.TB
	keys    *pgkeys.Keyring
	url     string
	created int
	filled  int
	stars   map[string]eventlog.Revision // of each account's stream
}

func newServer(t testing.TB) *server {
	t.Helper()
	world := feedtest.New(t, feedtest.Registry(t, voicesevents.Events()), projections.ReadModels()...)
	s := &server{World: world, t: t, stars: map[string]eventlog.Revision{}}
	s.keys = s.openKeys()
	s.url = s.serve()
	return s
}

func (s *server) openKeys() *pgkeys.Keyring {
	s.t.Helper()
	keys, err := pgkeys.New(pgkeys.Config{
		Pool: s.Pool, MasterKey: bytes.Repeat([]byte{1}, pgkeys.MasterKeySize), Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(s.t, err)
	return keys
}

// address is the public address of the service.
const address = "https://speak.example"

func (s *server) serve() string { return s.serveOver(s.Projector) }

// serveOver serves the voices of models.
func (s *server) serveOver(models readapi.Models) string {
	s.t.Helper()
	api := API{Models: models, Shower: voices.Shower{Keys: s.keys, Links: links.New(address, []byte("secret"))}}
	return webtest.Serve(s.t, web.Config{Routes: api.Routes(), Authenticator: webtest.Keys{}})
}

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// seal seals the profile of a voice.
func (s *server) seal(account, id string, p voice.Profile) []byte {
	s.t.Helper()
	plain, err := json.Marshal(p)
	require.NoError(s.t, err)
	sealed, err := s.keys.Seal(s.t.Context(), account, plain, voice.SealedFor(id))
	require.NoError(s.t, err)
	return sealed
}

// create creates a voice, appends more events to its stream, and returns its id.
func (s *server) create(account string, p voice.Profile, then ...func(id, account string) any) string {
	s.t.Helper()
	s.created++
	id := fmt.Sprintf("%016x", 0xffffff-s.created) // ids descend, unlike times
	at := noon.Add(time.Duration(s.created) * time.Minute)
	sealed := s.seal(account, id, p)
	events := []any{voice.Created{Voice: id, Account: account, Type: voice.Instant, Sealed: sealed, At: at}}
	for _, event := range then {
		events = append(events, event(id, account))
	}
	s.Write(s.t, voice.Stream(id), events...)
	return id
}

func ready(id, account string) any   { return voice.Ready{Voice: id, Account: account, At: noon} }
func deleted(id, account string) any { return voice.Deleted{Voice: id, Account: account, At: noon} }

// broken breaks a voice.
func broken(why string) func(id, account string) any {
	return func(id, account string) any {
		return voice.Broken{Voice: id, Account: account, Reason: "silent", Message: why, At: noon}
	}
}

// star stars a voice.
func (s *server) star(account, id string) {
	s.t.Helper()
	revision, known := s.stars[account]
	if !known {
		revision = eventlog.NoStream
	}
	s.stars[account] = s.Append(s.t, star.Stream(account), revision, star.Starred{Account: account, Voice: id, At: noon})
}

// fill gives an account n ready voices, and returns their ids in the order of their creation.
func (s *server) fill(account string, n int) (ids []string) {
	s.t.Helper()
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: noon}
	var last eventlog.Position
	for len(ids) < n {
		var events []any
		for len(events) < 500 && len(ids) < n {
			s.filled++
			id := fmt.Sprintf("%016x", s.filled)
			ids = append(ids, id)
			profile := voice.Profile{
				Name: "Voice " + id, Description: "As long as what people say about a voice.", Gender: "F",
				Tags: []string{"calm", "news"},
			}
			at := noon.Add(time.Duration(len(ids)/3) * time.Second) // several at once
			sealed := s.seal(account, id, profile)
			events = append(events, voice.Created{Voice: id, Account: account, Type: voice.Instant, Sealed: sealed, At: at},
				voice.Ready{Voice: id, Account: account, At: at})
		}
		proposed, err := s.Registry.Encode(uuid.New(), 0, meta, events...)
		require.NoError(s.t, err)
		appended, err := s.Log.Append(s.t.Context(), voice.Stream(uuid.NewString()), eventlog.NoStream, proposed)
		require.NoError(s.t, err)
		last = appended.Position
	}
	require.NoError(s.t, s.Projector.Wait(s.t.Context(), last))
	return ids
}

// answer returns the reply to a request; an empty key sends none.
func (s *server) answer(method, path, key string) (*http.Response, string) {
	s.t.Helper()
	return webtest.Send(s.t, method, s.url+path, "", "x-api-key", key)
}

func (s *server) list(account, query string) (listed []voices.Voice) {
	s.t.Helper()
	response, body := s.answer(http.MethodGet, "/v1/ai/voice/list"+query, account)
	require.Equal(s.t, http.StatusOK, response.StatusCode, body)
	require.NotEmpty(s.t, response.Header.Get("X-Recital-Position"))
	require.NoError(s.t, json.Unmarshal([]byte(body), &listed))
	return listed
}

func ids(listed []voices.Voice) []string {
	ids := []string{}
	for _, v := range listed {
		ids = append(ids, v.ID)
	}
	return ids
}
