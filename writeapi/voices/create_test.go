package voices

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/journal"
	commands "github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/access/keyring/memkeys"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/internal/providers/blobs/folder"
	"github.com/recital-tts/recital/internal/speech/voices"
	"github.com/recital-tts/recital/writeapi/writetest"
)

// keys authenticates keys that are the names of accounts.
type keys struct{}

func (keys) APIKey(_ context.Context, key string) (web.Principal, error) {
	if !strings.HasPrefix(key, "account-") {
		return web.Principal{}, domain.Refuse(domain.Unauthenticated, "no such key")
	}
	on := "free"
	if strings.HasPrefix(key, "account-paid") {
		on = "pro"
	}
	return web.Principal{Account: key, Key: "key…", Plan: on}, nil
}

// studio serves the route on a real log, a real folder and a real keyring. No worker makes the voices, so they stay as
// they were created.
type studio struct {
	*commandstest.World
	commands *commands.Voices
	models   *writetest.Models
	blobs    *folder.Store
	uploads  *spool.Spool
	url      string
}

func newStudio(t testing.TB) *studio {
	s := &studio{World: commandstest.New(t), models: &writetest.Models{}}
	logger := slog.New(slog.DiscardHandler)
	ring := memkeys.New()
	var err error
	s.blobs, err = folder.Open(folder.Config{Dir: t.TempDir(), Instance: "test", Logger: logger})
	require.NoError(t, err)
	registry, err := eventlog.NewRegistry(commands.Events()...)
	require.NoError(t, err)
	s.Journal = &journal.Journal{Log: s.Log, Registry: registry}
	s.commands, err = commands.New(commands.Config{
		Journal: s.Journal, Keys: ring, Blobs: s.blobs, Folder: t.TempDir(),
		Limits: commands.Limits{Wait: time.Nanosecond}, Now: time.Now, Logger: logger,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.commands.Close()) })
	s.uploads, err = spool.Open(spool.Config{Dir: filepath.Join(t.TempDir(), "uploads"), Budget: 256 << 20,
		MaxFile: 32 << 20})
	require.NoError(t, err)
	creator := API{
		Voices: s.commands, Shower: voices.Shower{Keys: ring, Links: links.New("", bytes.Repeat([]byte{2}, 32))},
		ReadModels: s.models, MaxUpload: 32 << 20,
	}
	s.url = webtest.Serve(t, web.Config{Routes: creator.Routes(), Authenticator: keys{}, Uploads: s.uploads})
	return s
}

// part is a part of a form, a file if it has a file name.
type part struct{ name, content, file string }

func file(name, content string) part { return part{name, content, "a.wav"} }

func field(name, content string) part { return part{name: name, content: content} }

// post sends a form; headers come in pairs.
func (s *studio) post(account string, parts []part, headers ...string) (*http.Response, map[string]any) {
	s.T.Helper()
	return post(s.T, s.url+"/v1/ai/voice", account, parts, headers...)
}

func post(t testing.TB, url, account string, parts []part, headers ...string) (*http.Response, map[string]any) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, p := range parts {
		var to io.Writer
		var err error
		if p.file != "" {
			to, err = w.CreateFormFile(p.name, p.file)
		} else {
			to, err = w.CreateFormField(p.name)
		}
		require.NoError(t, err)
		_, err = io.WriteString(to, p.content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	headers = append([]string{"Content-Type", w.FormDataContentType(), "X-API-Key", account}, headers...)
	response, reply := webtest.Send(t, http.MethodPost, url, body.String(), headers...)
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(reply), &got))
	return response, got
}

func TestEveryClientsFormMakesAVoice(t *testing.T) {
	s := newStudio(t)
	described := map[string]any{"name": "Ann", "description": "A voice", "gender": "F", "type": "instant", "tags": []any{}}
	for name, c := range map[string]struct {
		parts []part
		files int
		want  map[string]any
	}{
		"1.x": {[]part{
			field("metadata", `{"name":"Ann","enhance":true,"type":"instant","gender":"F","description":"A voice"}`),
			file("file_field", "1"), file("file_field", "2"),
		}, 2, described},
		"1.x, with nulls": {[]part{
			file("file_field", "1"),
			field("metadata", `{"name":"Ann","enhance":false,"type":null,"gender":null,"description":null}`),
		}, 1, map[string]any{"name": "Ann", "gender": "U", "description": nil}},
		"2.0": {[]part{file("files[]", "1"), field("metadata",
			`{"name":"Ann","enhance":"false","gender":"F","description":"A voice"}`), file("files[]", "2")}, 2, described},
		"2.5": {[]part{
			file("files[]", "1"), field("name", "Ann"), field("enhance", "false"), field("description", "A voice"),
			field("gender", "F"),
		}, 1, described},
		"2.12": {[]part{
			field("tags[]", "x"), file("file", "1"), field("description", "A voice"), field("tags[]", "y"), field("name", "Ann"),
			field("gender", "F"),
		}, 1, map[string]any{"name": "Ann", "tags": []any{"x", "y"}}},
		"curl": {[]part{file("files", "1"), file("files", "2"), file("files", "3"), field("name", "Ann"),
			field("type", "professional")}, 3,
			map[string]any{"name": "Ann", "type": "professional"}},
		"a field of the form goes before metadata": {[]part{field("metadata", `{"name":"Bob","tags":["x"]}`),
			field("name", "Ann"), file("file", "1")}, 1,
			map[string]any{"name": "Ann", "tags": []any{"x"}}},
		"files alone": {[]part{file("file", "1"), file("file", "2")}, 2,
			map[string]any{"name": "", "gender": "U", "type": "instant"}},
	} {
		t.Run(name, func(t *testing.T) {
			response, got := s.post("account-paid-"+strings.ReplaceAll(name, " ", "-"), c.parts)
			require.Equal(t, 200, response.StatusCode, got)
			for key, want := range c.want {
				require.Equal(t, want, got[key], key)
			}
			require.Equal(t, "preparing", got["state"])
			require.Equal(t, "me", got["owner"])
			require.NotEmpty(t, response.Header.Get("x-recital-position"))
			require.Equal(t, []readmodel.Model{readmodel.Voices, readmodel.Account}, s.models.Names)
			require.Len(t, commandstest.Fold[voice.Created](s.World, voice.Stream(got["id"].(string)))[0].Recordings, c.files)
		})
	}
	require.Eventually(t, func() bool { return s.uploads.Claimed() == 0 }, commandstest.Patience, time.Millisecond)
}

func TestWhatMakesNoVoice(t *testing.T) {
	s := newStudio(t)
	many := make([]part, 21)
	for i := range many {
		many[i] = file("files", fmt.Sprint(i))
	}
	for name, c := range map[string]struct {
		parts []part
		want  []any // locations
	}{
		"no files": {[]part{field("name", "Ann")}, []any{[]any{"body", "files"}}},
		"21 files": {many, []any{[]any{"body", "files"}}},
		"21 files of all names": {append([]part{file("file", "x"), file("files[]", "y"), file("file_field", "z")},
			many[:18]...), []any{[]any{"body", "files"}}},
		"an empty file":          {[]part{file("file", "")}, []any{[]any{"body", "file"}}},
		"a text for a file":      {[]part{field("file", "RIFF")}, []any{[]any{"body", "file"}}},
		"a type of the system's": {[]part{file("file", "1"), field("type", "intrinsic")}, []any{[]any{"body", "type"}}},
		"the same in metadata": {[]part{file("file", "1"), field("metadata", `{"type":"intrinsic"}`)},
			[]any{[]any{"body", "metadata", "type"}}},
		"an unknown type": {[]part{file("file", "1"), field("type", "best")}, []any{[]any{"body", "type"}}},
		"a name that is too long": {[]part{file("file", "1"), field("name", strings.Repeat("x", 201))},
			[]any{[]any{"body", "name"}}},
		"metadata that is no JSON": {[]part{file("file", "1"), field("metadata", `{"name"`)},
			[]any{[]any{"body", "metadata", 7.0}}},
		"metadata that is no map": {[]part{file("file", "1"), field("metadata", `[]`)}, []any{[]any{"body", "metadata"}}},
		"metadata with wrong types": {[]part{file("file", "1"), field("metadata", `{"name":1,"enhance":"perhaps"}`)},
			[]any{[]any{"body", "metadata", "name"}, []any{"body", "metadata", "enhance"}}},
		"all inputs at once": {[]part{field("type", "intrinsic"), file("file", "1"),
			field("accent", strings.Repeat("x", 65))}, []any{[]any{"body", "type"}, []any{"body", "accent"}}},
		"all files at once": {[]part{file("file", ""), file("files", "1"), file("files[]", "")},
			[]any{[]any{"body", "file"}, []any{"body", "files[]"}}},
	} {
		t.Run(name, func(t *testing.T) {
			response, got := s.post("account-1", c.parts)
			require.Equal(t, 422, response.StatusCode, got)
			var places []any
			for _, item := range got["detail"].([]any) {
				places = append(places, item.(map[string]any)["loc"])
			}
			require.Equal(t, c.want, places, got)
		})
	}
	require.Empty(t, s.Log.Written(voice.StreamPrefix), "nothing was created")
}

func TestARepeatedRequestMakesOneVoice(t *testing.T) {
	s := newStudio(t)
	form := []part{field("name", "Ann"), file("file", "1"), file("files", "2")}
	_, first := s.post("account-1", form, "Idempotency-Key", "k")
	response, again := s.post("account-1", form, "Idempotency-Key", "k")
	require.Equal(t, 200, response.StatusCode, again)
	require.Equal(t, first["id"], again["id"])
	for name, other := range map[string][]part{
		"another name":         {field("name", "Bob"), file("file", "1"), file("files", "2")},
		"other sound":          {field("name", "Ann"), file("file", "1"), file("files", "3")},
		"the sound elsewhere":  {field("name", "Ann"), file("file", "2"), file("files", "1")},
		"a recording is added": {field("name", "Ann"), file("file", "1"), file("files", "2"), file("files", "3")},
	} {
		response, got := s.post("account-1", other, "Idempotency-Key", "k")
		require.Equal(t, 422, response.StatusCode, name)
		require.Contains(t, fmt.Sprint(got), "idempotency-key", name)
	}
	_, other := s.post("account-2", form, "Idempotency-Key", "k")
	require.NotEqual(t, first["id"], other["id"], "keys are the account's own")
}

// A client whose account has no place left is refused before it uploads.
func TestAFullAccountNeedNotSendItsFiles(t *testing.T) {
	s := newStudio(t)
	for i := range 5 {
		response, got := s.post("account-1", []part{file("file", fmt.Sprint(i))}, "Idempotency-Key", fmt.Sprint(i))
		require.Equal(t, 200, response.StatusCode, got)
	}
	request, err := http.NewRequest(http.MethodPost, s.url+"/v1/ai/voice", neverRead{t})
	require.NoError(t, err)
	request.ContentLength = 30 << 20
	request.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	request.Header.Set("X-API-Key", "account-1")
	request.Header.Set("Expect", "100-continue")
	client := http.Client{Transport: &http.Transport{ExpectContinueTimeout: commandstest.Patience}}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, 402, response.StatusCode)
	require.Contains(t, string(body), "The plan includes 5 instant voices; delete one, or change the plan")

	// while a repeat of the request that took the last place gets the same answer
	again, got := s.post("account-1", []part{file("file", "4")}, "Idempotency-Key", "4")
	require.Equal(t, 200, again.StatusCode, got)
	beyond, _ := s.post("account-1", []part{file("file", "5")}, "Idempotency-Key", "5")
	require.Equal(t, 402, beyond.StatusCode)
}

// neverRead is a body that must not be sent.
type neverRead struct{ t testing.TB }

func (b neverRead) Read([]byte) (int, error) {
	b.t.Error("the body was sent")
	return 0, io.ErrUnexpectedEOF
}

func TestStrangersMakeNoVoices(t *testing.T) {
	s := newStudio(t)
	response, _ := s.post("nobody", []part{file("file", "1")})
	require.Equal(t, 401, response.StatusCode)
	require.Zero(t, s.uploads.Claimed())
}
