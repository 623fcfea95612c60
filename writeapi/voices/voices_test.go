package voices

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	accountsevents "github.com/recital-tts/recital/commands/accounts"
	billingevents "github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/commands/journal"
	commands "github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/folder"
	"github.com/recital-tts/recital/internal/providers/blobs/sealed"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/cloning/formant"
	shown "github.com/recital-tts/recital/internal/speech/voices"
	"github.com/recital-tts/recital/projections/accounts"
	projections "github.com/recital-tts/recital/projections/voices"
	readapi "github.com/recital-tts/recital/readapi/voices"
)

// world serves the write routes and the read routes, on a real log with its read model, a real folder and a real
// keyring.
type world struct {
	*feedtest.World
	t        testing.TB
	keys     *pgkeys.Keyring
	blobs    *folder.Store
	commands *commands.Voices
	previews *previews
	links    links.Links
	url      string
	places   map[string]eventlog.Revision // of each account's roster
}

// previews renders the name of the voice and the number of the rendering.
type previews struct {
	mu       sync.Mutex
	rendered int
	hold     chan struct{} // if set, renderings wait until it is closed
}

func (p *previews) Preview(_ context.Context, v speech.Voice) ([]byte, error) {
	return []byte("system " + v.ID), nil
}

func (p *previews) Render(_ context.Context, v speech.Voice) ([]byte, error) {
	p.mu.Lock()
	p.rendered++
	n, hold := p.rendered, p.hold
	p.mu.Unlock()
	if hold != nil {
		<-hold
	}
	return fmt.Appendf(nil, "%s by %s, rendering %d", v.ID, v.Variant, n), nil
}

func (p *previews) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rendered
}

func newWorld(t testing.TB) *world {
	t.Helper()
	s := &world{
		t: t, World: feedtest.New(t,
			feedtest.Registry(t, commands.Events(), accountsevents.Events(), billingevents.Events()),
			slices.Concat(projections.ReadModels(), accounts.ReadModels())...),
		previews: &previews{},
		links:    links.New("", []byte("secret")), places: map[string]eventlog.Revision{},
	}
	logger := slog.New(slog.DiscardHandler)
	var err error
	s.keys, err = pgkeys.New(pgkeys.Config{
		Pool: s.Pool, MasterKey: bytes.Repeat([]byte{1}, pgkeys.MasterKeySize), Logger: logger,
	})
	require.NoError(t, err)
	s.blobs, err = folder.Open(folder.Config{Dir: t.TempDir(), Instance: "test", Logger: logger})
	require.NoError(t, err)
	s.commands, err = commands.New(commands.Config{
		Journal: &journal.Journal{Log: s.Log, Registry: s.Registry}, Keys: s.keys, Blobs: s.blobs, Folder: t.TempDir(),
		Cloner:   formant.New(nil),
		Previews: s.previews, Now: time.Now, Logger: logger,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.commands.Close()) })
	shower := shown.Shower{Keys: s.keys, Links: s.links}
	write := API{Voices: s.commands, Previews: s.previews, Shower: shower, Links: s.links, ReadModels: s.Projector}
	read := readapi.API{Models: s.Projector, Shower: shower}
	s.url = webtest.Serve(t, web.Config{Routes: append(write.Routes(), read.Routes()...), Authenticator: keys{}})
	return s
}

const mine, other = "account-1", "account-2"

// create creates a voice in preparation.
func (s *world) create(account, id string) {
	s.t.Helper()
	profile, err := json.Marshal(voice.Profile{Name: "First", Description: "As it was", Gender: "U", Accent: "scottish",
		Tags: []string{"calm"}})
	require.NoError(s.t, err)
	said, err := s.keys.Seal(s.t.Context(), account, profile, voice.SealedFor(id))
	require.NoError(s.t, err)
	recording := s.put(account, id, []byte("a recording"))
	revision, known := s.places[account]
	if !known {
		revision = eventlog.NoStream
	}
	s.places[account] = s.Append(s.t, roster.Stream(account), revision,
		roster.PlaceTaken{Account: account, Voice: id, Type: voice.Instant, At: time.Now()})
	s.Write(s.t, voice.Stream(id), voice.Created{
		Voice: id, Account: account, Type: voice.Instant, Sealed: said, At: time.Now(),
		Recordings: []voice.Recording{{Blob: string(recording.Address), Bytes: recording.Size, SHA256: "h"}},
	})
}

// ready creates a voice that can speak.
func (s *world) ready(account, id string) {
	s.t.Helper()
	s.create(account, id)
	data, err := json.Marshal(map[string]any{"variant": "m3", "timbre": speech.Timbre{PitchLow: 100, PitchHigh: 150,
		Formants: 1, Pace: 1}})
	require.NoError(s.t, err)
	sum := sha256.Sum256(data)
	model := s.put(account, id, data)
	s.Append(s.t, voice.Stream(id), 0, voice.Ready{Voice: id, Account: account, At: time.Now(),
		Model: voice.Model{Engine: "formant/1", Blob: string(model.Address), SHA256: hex.EncodeToString(sum[:]),
			Bytes: model.Size}})
}

func (s *world) put(account, id string, content []byte) blobs.Blob {
	s.t.Helper()
	vault := sealed.New(s.blobs, s.keys)
	envelope, err := vault.Envelope(s.t.Context(), account, blobs.NewAddress(blobs.Owner(voice.Stream(id))))
	require.NoError(s.t, err)
	blob, err := vault.Put(s.t.Context(), envelope, bytes.NewReader(content), int64(len(content)))
	require.NoError(s.t, err)
	return blob
}

// send sends a request, with a key and a body unless these are empty; headers come in pairs.
func (s *world) send(method, path, key, body string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	return webtest.Send(s.t, method, s.url+path, body, append(headers, "X-API-Key", key)...)
}

func path(id string) string { return "/v1/ai/voice/" + id }

// update changes a voice, and requires that the read route then shows the voice of the reply.
func (s *world) update(account, id, body string, headers ...string) (v shown.Voice) {
	s.t.Helper()
	response, got := s.send(http.MethodPut, path(id), account, body, headers...)
	require.Equal(s.t, http.StatusOK, response.StatusCode, got)
	var reply updateVoiceResponse
	require.NoError(s.t, json.Unmarshal([]byte(got), &reply))
	_, got = s.send(http.MethodGet, path(id), account, "")
	require.NoError(s.t, json.Unmarshal([]byte(got), &v))
	require.Equal(s.t, reply.Voice, v)
	return v
}

const id, second = "00000000000000aa", "00000000000000bb"

func TestOnlyWhatARequestNamesIsChanged(t *testing.T) {
	s := newWorld(t)
	s.create(mine, id)
	as := func(v shown.Voice) []any {
		description := "none"
		if v.Description != nil {
			description = *v.Description
		}
		return []any{v.Name, description, v.Gender, v.Tags, v.Starred}
	}
	for _, c := range []struct {
		body, contentType string
		want              []any
	}{
		{`{"name": "Grüße <1>"}`, "application/json", []any{"Grüße <1>", "As it was", "U", []string{"calm"}, false}},
		{`{"gender": "F", "unfreeze": true, "name": null}`, "text/plain;charset=UTF-8",
			[]any{"Grüße <1>", "As it was", "F", []string{"calm"}, false}},
		{`{"starred": true}`, "", []any{"Grüße <1>", "As it was", "F", []string{"calm"}, true}},
		{`{"tags": ["a", "b"], "description": ""}`, "application/x-www-form-urlencoded",
			[]any{"Grüße <1>", "none", "F", []string{"a", "b"}, true}},
		{`{"tags": [], "starred": "False"}`, "application/json", []any{"Grüße <1>", "none", "F", []string{}, false}},
		{`{}`, "application/json", []any{"Grüße <1>", "none", "F", []string{}, false}},
		{``, "application/json", []any{"Grüße <1>", "none", "F", []string{}, false}},
	} {
		require.Equal(t, c.want, as(s.update(mine, id, c.body, "Content-Type", c.contentType)), c.body)
	}
}

func TestAVoiceOfTheSystemIsOnlyStarred(t *testing.T) {
	s := newWorld(t)
	starred := s.update(mine, "leah", `{"starred": true, "name": "Mine", "tags": ["x"]}`)
	require.Equal(t, []any{"Leah", true, []string{}}, []any{starred.Name, starred.Starred, starred.Tags})
	_, body := s.send(http.MethodGet, "/v1/ai/voice/list?starred=true", mine, "")
	require.Contains(t, body, `"id":"leah"`)
	_, body = s.send(http.MethodGet, "/v1/ai/voice/list?starred=true", other, "")
	require.Equal(t, `[]`, body, "stars are the account's")
	require.False(t, s.update(mine, "leah", `{"starred": false}`).Starred)

	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{http.MethodPut, path("leah"), `{"name": "Mine"}`, 403},
		{http.MethodPut, path("leah"), `{"starred": null}`, 403},
		{http.MethodPut, path("leah"), ``, 403},
		{http.MethodDelete, path("leah"), ``, 403},
		{http.MethodPost, path("leah") + "/preview/invalidate", ``, 403},
	} {
		response, body := s.send(c.method, c.path, mine, c.body)
		require.Equal(t, c.status, response.StatusCode, body)
	}
}

func TestOthersVoicesAreNotThere(t *testing.T) {
	s := newWorld(t)
	s.ready(mine, id)
	for _, unknown := range []string{id, second, "nobody", "..%2F..%2Fetc", "%27", strings.Repeat("a", 5000)} {
		for _, c := range []struct{ method, path, body string }{
			{http.MethodPut, path(unknown), `{"starred": true}`},
			{http.MethodPut, path(unknown), `{"name": "Stolen"}`},
			{http.MethodDelete, path(unknown), ``},
			{http.MethodPost, path(unknown) + "/preview/invalidate", ``},
			{http.MethodGet, path(unknown) + "/preview", ``},
			{http.MethodGet, path(unknown), ``},
		} {
			response, body := s.send(c.method, c.path, other, c.body)
			require.Equal(t, http.StatusNotFound, response.StatusCode, "%s %s: %s", c.method, c.path, body)
		}
	}
	require.Equal(t, "First", s.update(mine, id, ``).Name)
	for _, c := range []struct{ method, path string }{{http.MethodPut, ""}, {http.MethodDelete, ""},
		{http.MethodPost, "/preview/invalidate"}} {
		response, _ := s.send(c.method, path(id)+c.path, "", "")
		require.Equal(t, http.StatusUnauthorized, response.StatusCode, c)
	}
}

func TestWhatAChangeRefuses(t *testing.T) {
	s := newWorld(t)
	s.create(mine, id)
	for body, wrong := range map[string]string{
		`{"name": 1}`: "string_type", `{"name": "` + strings.Repeat("x", 201) + `"}`: "string_too_long",
		`{"tags": "calm"}`:       "list_type",
		`{"starred": "perhaps"}`: "bool_parsing", `{"tags": [` + strings.Repeat(`"x",`, 100) + `"x"]}`: "at most 100 items",
		`{"tags": ["` + strings.Repeat("x", 65) + `"]}`: "at most 64 characters", `{`: "json_invalid",
		`[]`: "model_attributes_type",
	} {
		response, got := s.send(http.MethodPut, path(id), mine, body)
		require.Equal(t, http.StatusUnprocessableEntity, response.StatusCode, body)
		require.Contains(t, got, wrong)
	}
	require.Equal(t, "First", s.update(mine, id, ``).Name)
}

func TestADeletedVoiceIsGoneAtOnce(t *testing.T) {
	s := newWorld(t)
	s.ready(mine, id)
	s.create(mine, second)
	link := s.update(mine, id, `{"starred": true}`).PreviewURL
	for _, one := range []string{id, second} {
		response, body := s.send(http.MethodDelete, path(one), mine, "")
		require.Equal(t, http.StatusOK, response.StatusCode, body)
		require.JSONEq(t, `{"success":true}`, body)
		for _, c := range []struct{ method, path string }{
			{http.MethodDelete, path(one)}, {http.MethodGet, path(one)}, {http.MethodPut, path(one)},
			{http.MethodGet, strings.TrimPrefix(*link, s.url)},
		} {
			response, _ := s.send(c.method, c.path, mine, "")
			require.Equal(t, http.StatusNotFound, response.StatusCode, c)
		}
	}
	_, body := s.send(http.MethodGet, "/v1/ai/voice/list?owner=me", mine, "")
	require.Equal(t, `[]`, body)
	_, body = s.send(http.MethodGet, "/v1/ai/voice/list?starred=true", mine, "")
	require.Equal(t, `[]`, body)
}

// hear plays a preview.
func (s *world) hear(link, key string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	return s.send(http.MethodGet, strings.TrimPrefix(link, s.url), key, "", headers...)
}

func TestAPreviewIsForItsOwnerAndForWhoeverHasItsAddress(t *testing.T) {
	s := newWorld(t)
	s.ready(mine, id)
	s.ready(other, second)
	signed := *s.update(mine, id, ``).PreviewURL
	plain, _, _ := strings.Cut(signed, "?")
	foreign := *s.update(other, second, ``).PreviewURL
	_, signature, _ := strings.Cut(foreign, "?")
	for _, c := range []struct {
		link, key string
		status    int
	}{
		{signed, "", 200}, {signed, mine, 200}, {signed, other, 200},
		{plain, mine, 200}, {plain, other, 404}, {plain, "", 404},
		{plain + "?" + signature, "", 404}, {plain + "?sig=", "", 404}, {plain + "?sig=x", other, 404},
		{plain + "?sig=x", mine, 200},
		{path("leah") + "/preview", "", 200}, {path("leah") + "/preview", other, 200},
	} {
		response, body := s.hear(c.link, c.key)
		require.Equal(t, c.status, response.StatusCode, "%s %s: %s", c.link, c.key, body)
		if c.status == 200 {
			require.Equal(t, "audio/mpeg", response.Header.Get("Content-Type"))
		}
	}

	// a voice that is not ready has no preview
	third := "00000000000000cc"
	s.create("account-3", third)
	response, body := s.hear(path(third)+"/preview", "account-3")
	require.Equal(t, http.StatusConflict, response.StatusCode, body)
	require.NotEmpty(t, response.Header.Get("Retry-After"))
	s.Append(t, voice.Stream(third), 0, voice.Broken{Voice: third, Account: "account-3", Reason: "silent",
		Message: "There is no speech", At: time.Now()})
	response, body = s.hear(path(third)+"/preview", "account-3")
	require.Equal(t, http.StatusConflict, response.StatusCode, body)
	require.Empty(t, response.Header.Get("Retry-After"))
}

func TestAPreviewIsKeptUntilItIsInvalidated(t *testing.T) {
	s := newWorld(t)
	s.ready(mine, id)
	link := *s.update(mine, id, ``).PreviewURL

	// given a preview that was rendered on demand, and then one that is stored
	_, early := s.hear(link, "")
	require.Equal(t, id+" by m3, rendering 1", early)
	render := func() {
		t.Helper()
		_, err := s.commands.RenderPreview(t.Context(), id, uuid.New())
		require.NoError(t, err)
	}
	render()
	kept := id + " by m3, rendering 2"
	response, body := s.hear(link, "")
	require.Equal(t, kept, body)
	tag := response.Header.Get("Etag")
	require.Equal(t, "private, no-cache", response.Header.Get("Cache-Control"))
	require.EqualValues(t, len(kept), response.ContentLength)

	response, body = s.hear(link, "", "If-None-Match", tag)
	require.Equal(t, []any{http.StatusNotModified, ""}, []any{response.StatusCode, body})
	response, body = s.hear(link, "", "Range", "bytes=17-18")
	require.Equal(t, []any{http.StatusPartialContent, kept[17:19], fmt.Sprintf("bytes 17-18/%d", len(kept))},
		[]any{response.StatusCode, body, response.Header.Get("Content-Range")})
	response, _ = s.hear(link, "", "Range", "bytes=999-")
	require.Equal(t, http.StatusRequestedRangeNotSatisfiable, response.StatusCode)
	require.Equal(t, 2, s.previews.count())

	// when it is invalidated, then another one is rendered, and the former is removed from the store
	response, body = s.send(http.MethodPost, path(id)+"/preview/invalidate", mine, "")
	require.Equal(t, http.StatusOK, response.StatusCode, body)
	require.JSONEq(t, `{"success":true}`, body)
	render()
	response, body = s.hear(link, "", "If-None-Match", tag)
	require.Equal(t, []any{http.StatusOK, id + " by m3, rendering 3"}, []any{response.StatusCode, body})
	stored := 0
	for _, err := range s.blobs.List(t.Context(), voice.Stream(id)+".") {
		require.NoError(t, err)
		stored++
	}
	require.Equal(t, 3, stored, "the recording, the model and the preview")
}

func TestThoseWhoAskAtTheSameTimeShareARendering(t *testing.T) {
	s := newWorld(t)
	s.ready(mine, id)
	link := *s.update(mine, id, ``).PreviewURL
	s.previews.hold = make(chan struct{})
	heard := make(chan string, 8)
	var asking sync.WaitGroup
	for range cap(heard) {
		asking.Go(func() {
			response, err := http.Get(s.url + strings.TrimPrefix(link, s.url))
			if err != nil {
				heard <- err.Error()
				return
			}
			defer response.Body.Close()
			body, _ := io.ReadAll(response.Body)
			heard <- string(body)
		})
	}
	require.Eventually(t, func() bool { return s.previews.count() == 1 }, time.Minute, time.Millisecond)
	require.Never(t, func() bool { return s.previews.count() > 1 }, 200*time.Millisecond, time.Millisecond)
	close(s.previews.hold)
	asking.Wait()
	close(heard)
	for one := range heard {
		require.Regexp(t, "^"+id+" by m3, rendering [1-8]$", one) // a late request gets another rendering
	}
}

func TestAPreviewEndsWithItsKey(t *testing.T) {
	s := newWorld(t)
	s.ready(mine, id)
	s.ready(other, second)
	kept, rendered := s.links.OwnedVoicePreview("", id), s.links.OwnedVoicePreview("", second)
	_, err := s.commands.RenderPreview(t.Context(), id, uuid.New())
	require.NoError(t, err)
	for link, account := range map[string]string{kept: mine, rendered: other} {
		_, link, _ = strings.Cut(link, "/v1/")
		response, _ := s.hear("/v1/"+link, "")
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.NoError(t, s.keys.Erase(t.Context(), account))
		response, body := s.hear("/v1/"+link, "")
		require.Equal(t, http.StatusNotFound, response.StatusCode, body)
	}
}
