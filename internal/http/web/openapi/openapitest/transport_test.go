package openapitest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/openapi"
	"github.com/recital-tts/recital/internal/http/web/openapi/openapitest"
)

type song struct {
	Title string   `json:"title" minlen:"1"`
	Pace  *float64 `json:"pace" ge:"0.25" le:"2"`
	Mood  string   `json:"mood,omitempty" literal:"glad,sad"`
	Verse int      `json:"verse" gt:"0" default:"1"`
	Next  *song    `json:"next"`
}

type songHeaders struct {
	Warning *string `header:"x-warning"`
}

type audioHeaders struct {
	Seed int64 `header:"x-seed"`
}

type one struct {
	ID string `path:"id"`
}

func none[In any](*web.Call, In) (web.Reply, error) { return web.Reply{}, nil }

func description(t testing.TB) []byte {
	t.Helper()
	written, err := openapi.Write(openapi.Info{Title: "Songs", Version: "1"}, []web.Route{
		web.Get("/songs/list", none[struct{}], web.Public(), web.Returns[[]song]()),
		web.Get("/songs/{id}", none[one], web.Returns[song](web.SendsHeaders[songHeaders]())),
		web.Get("/songs/{id}/audio", none[one], web.Public(),
			web.ReturnsMedia([]string{"audio/mpeg"}, web.SendsHeaders[audioHeaders]()), web.ReturnsNothing(304),
			web.Refuses(404)),
	})
	require.NoError(t, err)
	return written
}

// server answers every request with answer, except the one for the description.
func server(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	described := description(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/openapi.json" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(described)
			return
		}
		w.Header().Set("request-id", "req_1")
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// tests runs a function like the tests of a package.
type tests func()

func (t tests) Run() int { t(); return 0 }

// ask sends a request through the checker and returns the exit code and the error.
func ask(t *testing.T, method, address string) (code int, err error) {
	t.Helper()
	code = openapitest.Checked(tests(func() {
		var request *http.Request
		request, err = http.NewRequest(method, address, nil)
		require.NoError(t, err)
		var response *http.Response
		if response, err = http.DefaultClient.Do(request); err != nil {
			return
		}
		_, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	})).Run()
	return code, err
}

func TestRepliesAreChecked(t *testing.T) {
	const good = `{"title": "Hello", "pace": null, "verse": 1, "next": null}`
	header := func(pairs ...string) http.Header {
		h := http.Header{"Content-Type": {"application/json"}}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	for name, c := range map[string]struct {
		path   string
		method string
		status int
		header http.Header
		body   string
		wrong  string // "" if the reply is as described
	}{
		"as described": {path: "/songs/1", body: good},
		"with all keys": {path: "/songs/1",
			body: `{"title":"H","pace":0.25,"mood":"glad","verse":7,"next":` + good + `}`},
		"a list":                  {path: "/songs/list", body: `[` + good + `,` + good + `]`},
		"a literal before an id":  {path: "/songs/list", body: good, wrong: "array"},
		"HEAD":                    {path: "/songs/1", method: "HEAD", body: ""},
		"OPTIONS":                 {path: "/songs/1", method: "OPTIONS", status: 204, header: http.Header{}},
		"no such path":            {path: "/elsewhere", status: 404, body: `{"detail":"Not Found"}`},
		"no key":                  {path: "/songs/1", body: `{"pace":null,"verse":1,"next":null}`, wrong: "title"},
		"an undescribed key":      {path: "/songs/1", body: `{"title":"H","secret":1}`, wrong: "secret"},
		"an undescribed key deep": {path: "/songs/1", body: `{"title":"H","next":{"title":"H","secret":1}}`, wrong: "secret"},
		"a wrong type":            {path: "/songs/1", body: `{"title":7}`, wrong: "string"},
		"no text":                 {path: "/songs/1", body: `{"title":""}`, wrong: "title"},
		"null":                    {path: "/songs/1", body: `{"title":null}`, wrong: "title"},
		"too much":                {path: "/songs/1", body: `{"title":"H","pace":2.5}`, wrong: "pace"},
		"at the open bound":       {path: "/songs/1", body: `{"title":"H","verse":0}`, wrong: "verse"},
		"outside of the set":      {path: "/songs/1", body: `{"title":"H","mood":"so-so"}`, wrong: "mood"},
		"no JSON":                 {path: "/songs/1", body: `{"title":`, wrong: "reading the body"},
		"another status":          {path: "/songs/1", status: 201, body: good, wrong: "the status 201 is not described"},
		"a status for others": {path: "/songs/1", status: 404, body: `{"error":"no"}`,
			wrong: "the status 404 is not described"},
		"another type": {path: "/songs/1", header: header("Content-Type", "text/plain"), body: good,
			wrong: `the content type "text/plain" is not described`},
		"an undescribed header": {path: "/songs/1", header: header("x-debug", "1"), body: good,
			wrong: "the header X-Debug is not described"},
		"a described header":   {path: "/songs/1", header: header("x-warning", "hm"), body: good},
		"an undescribed route": {path: "/secret", body: good, wrong: "no such operation is described"},
		"an error of 1.0":      {path: "/songs/1", status: 401, body: `{"error":"no","message":"no","status":401}`},
		"an error of 1.1": {path: "/songs/1", status: 401,
			body: `{"type":"error","error":{"type":"t","message":"m"},"request_id":"r"}`},
		"a bare error":        {path: "/songs/1", status: 401, body: `{"problem":"no"}`, wrong: "401"},
		"a mixture of both":   {path: "/songs/1", status: 401, body: `{"type":"error","error":"no"}`, wrong: "401"},
		"an unforeseen error": {path: "/songs/1", status: 500, body: `{"error":"Internal Server Error"}`},
		"an unforeseen shape": {path: "/songs/1", status: 500, body: `"oops"`, wrong: "500"},
		"a 422 of 1.0": {path: "/songs/1", status: 422,
			body: `{"detail":[{"loc":["path","id",1],"msg":"m","type":"t","ctx":{"ge":1}}],"error":"id: m"}`},
		"a 422 of 1.1": {path: "/songs/1", status: 422,
			body: `{"detail":[],"type":"error","error":{"type":"t","message":"m"},"request_id":"r"}`},
		"a 422 without a place": {path: "/songs/1", status: 422, body: `{"detail":[{"msg":"m","type":"t"}]}`, wrong: "loc"},
		"audio": {path: "/songs/1/audio", header: header("Content-Type", "audio/mpeg", "x-seed", "7"),
			body: "\xff\xfb"},
		"audio of another type": {path: "/songs/1/audio", header: header("Content-Type", "audio/wav", "x-seed", "7"),
			wrong: "audio/wav"},
		"no header": {path: "/songs/1/audio", header: header("Content-Type", "audio/mpeg"),
			wrong: "the header x-seed is missing"},
		"a wrong header": {path: "/songs/1/audio", header: header("Content-Type", "audio/mpeg", "x-seed", "seven"),
			wrong: "the header x-seed"},
		"unchanged": {path: "/songs/1/audio", status: 304, header: http.Header{}},
	} {
		t.Run(name, func(t *testing.T) {
			address := server(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.header == nil {
					c.header = header()
				}
				for name := range c.header {
					w.Header().Set(name, c.header.Get(name))
				}
				w.WriteHeader(max(c.status, 200))
				_, _ = io.WriteString(w, c.body)
			})
			method := c.method
			if method == "" {
				method = http.MethodGet
			}
			code, err := ask(t, method, address+c.path)
			if c.wrong == "" {
				require.NoError(t, err)
				require.Zero(t, code)
				return
			}
			require.ErrorContains(t, err, c.wrong)
			require.NotZero(t, code, "the tests must fail, even if they expect failing requests")
		})
	}
}

// Audio is forwarded as it arrives. Otherwise a server that waits for the client would block.
func TestAudioIsNotHeldBack(t *testing.T) {
	more := make(chan struct{})
	address := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "audio/mpeg")
		w.Header().Set("x-seed", "7")
		_, _ = io.WriteString(w, "first")
		w.(http.Flusher).Flush()
		<-more
		_, _ = io.WriteString(w, " last")
	})
	code := openapitest.Checked(tests(func() {
		response, err := http.Get(address + "/songs/1/audio")
		require.NoError(t, err)
		defer response.Body.Close()
		first := make([]byte, 5)
		_, err = io.ReadFull(response.Body, first)
		require.NoError(t, err)
		close(more)
		rest, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, "first last", string(first)+string(rest))
	})).Run()
	require.Zero(t, code)
}

func TestClientsWithTheirOwnTransports(t *testing.T) {
	address := server(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	require.IsType(t, &http.Transport{}, openapitest.Through(&http.Transport{}), "without Checked there are no checks")
	code := openapitest.Checked(tests(func() {
		client := &http.Client{Transport: openapitest.Through(&http.Transport{})}
		defer client.CloseIdleConnections()
		_, err := client.Get(address + "/songs/1")
		require.ErrorContains(t, err, "the status 418 is not described")
	})).Run()
	require.NotZero(t, code)
}

// Another server may reuse the address of an ended one, and may have no description.
func TestADescriptionThatHasChanged(t *testing.T) {
	var changed, gone atomic.Bool
	old, now := description(t), []byte(strings.ReplaceAll(string(description(t)), `"/songs/{id}"`, `"/hits/{id}"`))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("request-id", "req_1")
		switch {
		case gone.Load():
			w.WriteHeader(http.StatusNotFound)
		case r.URL.Path == "/openapi.json" && !changed.Load():
			_, _ = w.Write(old)
		case r.URL.Path == "/openapi.json":
			_, _ = w.Write(now)
		default:
			fmt.Fprint(w, `{"title":"H"}`)
		}
	}))
	defer s.Close()
	code := openapitest.Checked(tests(func() {
		for path, after := range map[string]bool{"/songs/1": false, "/hits/1": true} {
			changed.Store(after)
			response, err := http.Get(s.URL + path)
			require.NoError(t, err)
			response.Body.Close()
		}
		gone.Store(true)
		response, err := http.Get(s.URL + "/hits/1")
		require.NoError(t, err)
		require.Equal(t, http.StatusNotFound, response.StatusCode)
		response.Body.Close()
	})).Run()
	require.Zero(t, code)
}

func TestAServerWithoutADescriptionIsNotChecked(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	code, err := ask(t, http.MethodGet, s.URL+"/anything")
	require.NoError(t, err)
	require.Zero(t, code)
}

func TestAWrongDescription(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":             `{`,
		"no version":          `{"openapi": "3.1.0", "info": {"title": "t"}, "paths": {}}`,
		"a dangling name":     strings.ReplaceAll(string(description(t)), `"Song":`, `"Sing":`),
		"unknown kind":        strings.ReplaceAll(string(description(t)), `"integer"`, `"int"`),
		"an absent parameter": `{"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {"/a/{b}": {"get": {"responses": {"default": {"description": "d"}}}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := openapitest.Parse([]byte(text))
			require.Error(t, err)
		})
	}
	_, err := openapitest.Parse(description(t))
	require.NoError(t, err)
}
