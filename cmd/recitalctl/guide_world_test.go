package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/process/datafolder"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
)

// newReader returns a reader with the settings files of a guide in place. In the guide for operators, the reader starts
// the service. In others, it is already running.
func newReader(t *testing.T, name string) *reader {
	t.Helper()
	here, data := t.TempDir(), pgtest.DataDir(t)
	r := &reader{
		t: t, name: name, guide: readGuide(t, name), here: here, values: map[string]string{"EMAIL": "ada@example.com"},
	}
	r.server = &service{
		t: t, data: data, settings: filepath.Join(here, "etc", "recitald.env"), log: filepath.Join(here, "recitald.log"),
	}
	r.places = []string{
		"/var/lib/recital-", data + "/beside-", "/var/lib/recital", data,
		// The test's replacement for the user of recitald.
		" -o recital -g recital", "", "recital:recital", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()),
		"/etc/recital", filepath.Join(here, "etc"), "/var/backups/recital", filepath.Join(here, "backups"),
		"127.0.0.1:8080", "127.0.0.1:0", "127.0.0.1:8081", "127.0.0.1:0",
	}
	for _, folder := range []string{"etc", "backups", "bin"} {
		require.NoError(t, os.Mkdir(filepath.Join(here, folder), 0o755))
	}
	require.NoError(t, os.Symlink(os.Args[0], filepath.Join(here, "bin", "recitalctl")))
	require.NoError(t, os.WriteFile(r.server.settings,
		[]byte(r.place("RECITAL_DATA_DIR=/var/lib/recital\nRECITAL_HTTP_ADDR=127.0.0.1:8080\n"+
			"RECITAL_ADMIN_ADDR=127.0.0.1:8081\n")), 0o600))
	for _, f := range r.guide.files {
		require.NoError(t, os.WriteFile(r.place(f.path), []byte(r.place(f.text)), 0o600))
	}
	if name != "operators" {
		r.start()
		return r
	}
	store := unused(t)
	r.values["EVENTSTORE"] = connection(store)
	t.Cleanup(eventStore(t, nodetest.Dir(t), store))
	return r
}

// manage stands in for systemctl.
func (r *reader) manage(action, at string) {
	r.t.Helper()
	switch action {
	case "start recitald":
		r.start()
	case "stop recitald":
		r.server.stop(syscall.SIGTERM)
	case "restart recitald":
		r.server.stop(syscall.SIGTERM)
		r.start()
	default:
		require.Fail(r.t, "systemctl cannot do that here", at)
	}
}

// start starts the service, and opens accounts on the first start.
func (r *reader) start() {
	r.t.Helper()
	serving := r.server.start()
	last := len(r.places) - 4
	r.places = append(r.places[:last], "127.0.0.1:8080", serving.Public, "127.0.0.1:8081", serving.Admin)
	if r.values["ACCOUNT"] != "" {
		return
	}
	person := visit(r.t, serving.Public, r.values["EMAIL"])
	person.send(http.MethodPut, "/v1/ai/voice/leah", "application/json", `{"starred":true}`, http.StatusOK)
	r.values["ACCOUNT"] = person.account
	gone := visit(r.t, serving.Public, "gone@example.com")
	r.values["CLOSED"] = gone.account
	gone.do(http.MethodDelete, "/v1/account", nil, http.StatusOK)
}

// service is a recitald under a service manager.
type service struct {
	t                   *testing.T
	data, settings, log string
	command             *exec.Cmd
	ended               <-chan struct{}
}

// start returns when requests are served.
func (s *service) start() (serving datafolder.Addresses) {
	s.t.Helper()
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(s.t, err)
	defer log.Close()
	s.command = exec.Command("bash", "-c",
		"set -a; . "+s.settings+"; exec "+speechworker.Beside("recitald").Path())
	s.command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "RECITAL_STANDINS_ADDR=127.0.0.1:0",
		"RECITAL_ENGINES=1", "RECITAL_CODECS=1", "TMPDIR=" + os.TempDir(),
	}
	s.command.Stdout, s.command.Stderr = log, log
	s.ended = launch(s.t, s.command)
	s.t.Cleanup(func() { s.stop(syscall.SIGKILL) })
	require.Eventually(s.t, func() bool {
		serving = datafolder.Find(s.data)
		return s.hasEnded() ||
			isReady(serving.Public)
	}, patience, interval)
	if s.hasEnded() {
		said, _ := os.ReadFile(s.log)
		require.Fail(s.t, "recitald did not start", string(said))
	}
	return serving
}

func isReady(address string) bool {
	response, err := http.Get("http://" + address + "/ready_check")
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

func (s *service) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// stop has no effect if the service has ended.
func (s *service) stop(with syscall.Signal) {
	_ = s.command.Process.Signal(with) // fails if it has already ended
	<-s.ended
}

// visitor is a person with a session in a browser.
type visitor struct {
	t       *testing.T
	browser *http.Client
	home    string
	account string
}

// visit signs a person in with the identity provider for development.
func visit(t *testing.T, address, email string) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	stop := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	v := &visitor{t: t, browser: &http.Client{Jar: jar, CheckRedirect: stop}, home: "http://" + address}
	begun := v.do(http.MethodGet, "/auth/oauth/login?provider=idp_1&redirect="+url.QueryEscape(v.home+"/docs"), nil,
		http.StatusFound)
	answered := v.do(http.MethodPost, begun.header.Get("Location"),
		url.Values{"name": {"Ada Lovelace"}, "email": {email}}, http.StatusSeeOther)
	v.do(http.MethodGet, answered.header.Get("Location"), nil, http.StatusFound)
	valid := v.do(http.MethodGet, "/auth/oauth/validate", nil, http.StatusOK)
	var who struct{ ID string }
	require.NoError(t, json.Unmarshal(valid.body, &who))
	v.account = who.ID
	return v
}

func (v *visitor) do(method, path string, form url.Values, status int) answer {
	v.t.Helper()
	return v.send(method, path, "application/x-www-form-urlencoded", form.Encode(), status)
}

func (v *visitor) send(method, path, mediaType, body string, status int) answer {
	v.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = v.home + path
	}
	request, err := http.NewRequestWithContext(v.t.Context(), method, path, strings.NewReader(body))
	require.NoError(v.t, err)
	request.Header.Set("Content-Type", mediaType)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	response, err := v.browser.Do(request)
	require.NoError(v.t, err)
	defer response.Body.Close()
	answered, err := io.ReadAll(response.Body)
	require.NoError(v.t, err)
	require.Equal(v.t, status, response.StatusCode, string(answered))
	return answer{status: response.StatusCode, header: response.Header, body: answered}
}
