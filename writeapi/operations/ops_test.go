package operations_test

import (
	"bytes"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/access/operators"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/writeapi/operations"
)

func TestMain(m *testing.M) { webtest.Main(m) }

const maxEcho = 10 << 20

// serve runs the routes on a real server and returns its URL.
func serve(t *testing.T, api *operations.API) string {
	t.Helper()
	return webtest.Serve(t, web.Config{Routes: api.Routes(), Tokens: []operators.Token{
		{Hash: sha256.Sum256([]byte("operator")), Role: operators.Operator},
		{Hash: sha256.Sum256([]byte("auditor")), Role: operators.Auditor},
	}})
}

func ask(t *testing.T, method, url, contentType string, body []byte) (*http.Response, []byte) {
	t.Helper()
	response, got := webtest.Send(t, method, url, string(body), "Content-Type", contentType)
	return response, []byte(got)
}

// service is an instance that can leave.
type service struct{ leaving atomic.Bool }

func (s *service) Leaving() bool { return s.leaving.Load() }
func (s *service) Leave()        { s.leaving.Store(true) }

func TestHealthAndReadiness(t *testing.T) {
	var missing []string
	var running service
	url := serve(t, &operations.API{Missing: func() []string { return missing }, Service: &running})

	response, body := ask(t, "GET", url+"/health_check", "", nil)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.JSONEq(t, `{"status":"ok"}`, string(body))
	response, body = ask(t, "GET", url+"/ready_check", "", nil)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.JSONEq(t, `{"status":"ready"}`, string(body))

	missing = []string{"event store", "Postgres"}
	response, body = ask(t, "GET", url+"/ready_check", "", nil)
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))
	require.JSONEq(t, `{"status":"unavailable","missing":["event store","Postgres"]}`, string(body))

	running.Leave()
	response, body = ask(t, "GET", url+"/ready_check", "", nil)
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.JSONEq(t, `{"status":"draining"}`, string(body))
	response, _ = ask(t, "GET", url+"/health_check", "", nil)
	require.Equal(t, http.StatusOK, response.StatusCode, "the process answers all the same")
}

func TestWhoMayDrain(t *testing.T) {
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"this machine":            {nil, http.StatusOK},
		"somebody behind a proxy": {[]string{"X-Forwarded-For", "127.0.0.1"}, http.StatusUnauthorized},
		"a proxy of another kind": {[]string{"Forwarded", "for=127.0.0.1"}, http.StatusUnauthorized},
		"a page in a browser":     {[]string{"Origin", "https://elsewhere.example"}, http.StatusUnauthorized},
		"a wrong token": {[]string{"X-Forwarded-For", "10.0.0.1", "Authorization", "Bearer wrong"},
			http.StatusUnauthorized},
		"an auditor": {[]string{"X-Forwarded-For", "10.0.0.1", "Authorization", "Bearer auditor"},
			http.StatusForbidden},
		"an operator from outside": {[]string{"X-Forwarded-For", "10.0.0.1", "Authorization", "Bearer operator"},
			http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			var running service
			url := serve(t, &operations.API{Missing: func() []string { return nil }, Service: &running})
			response, _ := webtest.Send(t, http.MethodPost, url+"/drain", "", c.headers...)
			require.Equal(t, c.status, response.StatusCode)
			require.Equal(t, c.status == http.StatusOK, running.Leaving())
		})
	}
}

func TestEchoOfAPayload(t *testing.T) {
	url := serve(t, &operations.API{}) + "/echo"
	for name, c := range map[string]struct{ query, contentType, payload string }{
		"text":             {"", "text/plain; charset=utf-8", "hello"},
		"JSON":             {"", "application/json", `{"a": 1}`},
		"no JSON":          {"", "application/json", `{"a"`},
		"a form":           {"", "application/x-www-form-urlencoded", "length=3&a=b"},
		"a page":           {"", "text/html", "<script>alert(1)</script>"},
		"a bad type":       {"", "text/plain; charset", "hello"},
		"no type":          {"", "", "\x00\xff"},
		"nothing":          {"", "", ""},
		"any negative one": {"?length=-7", "text/plain", "hello"},
		"very much":        {"?length=-1", "application/octet-stream", strings.Repeat("0123456789abcdef", maxEcho/16)},
	} {
		t.Run(name, func(t *testing.T) {
			response, body := ask(t, "POST", url+c.query, c.contentType, []byte(c.payload))
			require.Equal(t, http.StatusOK, response.StatusCode)
			require.True(t, bytes.Equal([]byte(c.payload), body))
			if name != "a bad type" && (strings.HasPrefix(c.contentType, "text/plain") || c.contentType == "application/json") {
				require.Equal(t, c.contentType, response.Header.Get("Content-Type"))
				require.Empty(t, response.Header.Get("Content-Disposition"))
				return
			}
			require.Equal(t, "application/octet-stream", response.Header.Get("Content-Type"))
			require.Equal(t, "attachment", response.Header.Get("Content-Disposition"))
		})
	}
	response, _ := ask(t, "POST", url, "text/plain", make([]byte, maxEcho+1))
	require.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
}

func TestEchoOfALength(t *testing.T) {
	url := serve(t, &operations.API{}) + "/echo"
	for query, length := range map[string]int{
		"?length=0": 0, "?length=1": 1, "?length=65536": 65536, "?length=65537": 65537, "?length=10485760": maxEcho,
	} {
		t.Run(query, func(t *testing.T) {
			response, body := ask(t, "POST", url+query, "text/plain", []byte("an upload"))
			require.Equal(t, http.StatusOK, response.StatusCode)
			require.Equal(t, "application/octet-stream", response.Header.Get("Content-Type"))
			require.True(t, bytes.Equal(make([]byte, length), body))
		})
	}
	for query, kind := range map[string]string{
		"?length=10485761": "less_than_equal", "?length=99999999999999999999": "less_than_equal",
		"?length=many": "int_parsing", "?length=1.5": "int_parsing",
	} {
		t.Run(query, func(t *testing.T) {
			response, body := ask(t, "POST", url+query, "", nil)
			require.Equal(t, http.StatusUnprocessableEntity, response.StatusCode)
			require.Contains(t, string(body), `"loc":["query","length"]`)
			require.Contains(t, string(body), kind)
		})
	}
}
