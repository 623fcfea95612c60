package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

// impostor serves an admin address that misbehaves, and returns the environment for calling it.
func impostor(t *testing.T, answer http.HandlerFunc) []string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("token\n"), 0o600))
	return []string{"RECITAL_ADMIN_ADDR=" + server.Listener.Addr().String(), "RECITAL_OPERATOR_TOKEN_FILE=" + token}
}

// scripted serves a rebuild of generation 2 of account: one response per request, the last one repeatedly. A number is
// an HTTP status.
func scripted(t *testing.T, answers ...string) []string {
	t.Helper()
	var asked atomic.Int64
	return impostor(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = io.WriteString(w, `{"generations":[{"name":"account","version":1,"generation":2}]}`)
			return
		}
		n := min(int(asked.Add(1)), len(answers))
		var status int
		if _, err := fmt.Sscanf(answers[n-1], "%d", &status); err == nil {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":"not now"}`)
			return
		}
		_, _ = io.WriteString(w, answers[n-1])
	})
}

func standing(state string, progress float64, more string) string {
	return fmt.Sprintf(`{"head":"9/9","projections":[{"name":"account","version":1,"generation":2,"state":%q,"progress":%g,"position":"5/5"%s}]}`,
		state, progress, more)
}

func TestFollowingARebuild(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []string
		args    []string
		code    int
		says    []string
	}{
		"that is built": {
			[]string{standing("unfed", 0, ""), standing("building", 0.5, ""), standing("current", 0.9, "")}, nil, exitDone,
			[]string{"account v1 g2    unfed      0 %", "building  50 %", "current  100 %", "projections promote account"},
		},
		"that is promoted": {
			[]string{
				standing("current", 1, `,"promote":true`), standing("current", 1, `,"live":true`),
			}, []string{"--promote"}, exitDone,
			[]string{"Live now", "live"},
		},
		"that stops": {
			[]string{standing("stopped", 0.5, `,"reason":"event a of stream b: it\u001b[2J fails"`)}, nil, exitFailed,
			[]string{`generation 2 of account version 1 stopped: event a of stream b: it\u001b[2J fails`,
				"projections parked retry account --generation 2 --event ID", "projections retire account --generation 2"},
		},
		"that is cancelled": {
			[]string{standing("building", 0.5, ""), `{"head":"9/9","projections":[]}`}, nil, exitFailed,
			[]string{"generation 2 of account version 1 is gone: it was retired"},
		},
		"during a short outage of recitald": {
			[]string{
				standing("building", 0.5, ""), "503", "500", standing("current", 1, ""),
			}, []string{"--max-outage", "1m"}, exitDone,
			[]string{"recitald does not answer; the rebuild continues when it is back", "recitald is back"},
		},
		"during a long outage of recitald": {
			[]string{standing("building", 0.5, ""), "503"}, []string{"--max-outage", "1ms"}, exitFailed,
			[]string{"recitald has not answered for 1ms", "follow again:  recitalctl projections follow account"},
		},
		"when the token is not accepted any more": {
			[]string{standing("building", 0.5, ""), "401"}, nil, exitToken, []string{"does not accept the token"},
		},
		"of a server that is not recitald": {
			[]string{"[]"}, nil, exitFailed, []string{"is it the admin address of a recitald?"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := recitalctl(t, scripted(t, c.answers...), append([]string{"projections", "rebuild", "account"}, c.args...)...)
			assert.Equal(t, c.code, got.code, got.notes)
			for _, part := range c.says {
				assert.Contains(t, got.notes, part)
			}
			assert.Equal(t, c.code == exitDone, got.out != "", got.out)
		})
	}
}

func TestFollowingWhatIsBeingBuilt(t *testing.T) {
	t.Parallel()
	list := func(states ...string) string {
		return `{"head":"9/9","projections":[` + strings.Join(states, ",") + `]}`
	}
	one := func(name string, version, number int, state, more string) string {
		return fmt.Sprintf(`{"name":%q,"version":%d,"generation":%d,"state":%q,"progress":0.5%s}`, name, version, number,
			state, more)
	}
	const live, promote = `,"live":true`, `,"promote":true`
	before := list(
		// Being built.
		one("account", 1, 1, "unfed", ""), one("account", 1, 2, "current", live), one("account", 1, 3, "building", ""),
		one("account", 2, 3, "current", live), one("account", 2, 4, "current", ""), // built
		one("usage", 1, 1, "current", promote), one("usage", 1, 2, "building", live)) // to become live
	after := list(one("account", 1, 3, "current", ""), one("usage", 1, 1, "current", live))

	got := succeeds(t, scripted(t, before, before, after), "projections", "follow")
	assert.Equal(t, 3, strings.Count(got.out, "\n"), got.out)
	assert.Regexp(t, `(?m)^account +1 +3 +no +current`, got.out)
	assert.Regexp(t, `(?m)^usage +1 +1 +yes +current`, got.out)

	got = succeeds(t, scripted(t, before, before, after), "projections", "follow", "usage")
	assert.NotContains(t, got.out, "account")

	got = recitalctl(t, scripted(t, after), "projections", "follow", "account")
	assert.Zero(t, got.code)
	assert.Empty(t, got.out)
}

func TestARecitaldThatNeverComesBack(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	environment := impostor(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-gone: // every connection is cut
			hijacked, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = hijacked.Close()
			}
		default:
			close(gone)
			_, _ = io.WriteString(w, `{"generations":[{"name":"account","version":1,"generation":2}]}`)
		}
	})
	got := recitalctl(t, environment, "projections", "rebuild", "--all", "--promote", "--max-outage", "1ms")
	assert.Equal(t, exitUnreachable, got.code)
	assert.Contains(t, got.notes, "follow again:  recitalctl projections follow account")
}

func TestARebuildForPrograms(t *testing.T) {
	t.Parallel()
	got := succeeds(t, scripted(t, standing("building", 0.5, ""), standing("current", 1, "")),
		"projections", "rebuild", "account", "--format", "json")
	assert.Empty(t, got.notes)
	var states []string
	for _, line := range strings.Split(strings.TrimSpace(got.out), "\n") {
		var status struct {
			Name  string `json:"name"`
			State string `json:"state"`
			Done  bool   `json:"done"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &status), line)
		states = append(states, fmt.Sprint(status.Name, " ", status.State, " ", status.Done))
	}
	assert.Equal(t, []string{"account building false", "account current true"}, states)
}

// hostile is text from a server that attempts to control a terminal.
const hostile = `\u001b]0;owned\u0007\u009b2J\nfake line\ttab\u202e`

func TestControlCharactersOfAServerDoNotReachTheTerminal(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	refusing := impostor(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("request-id", "req\u009b")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"error":"`+hostile+`"}`)
	})
	telling := impostor(t, func(w http.ResponseWriter, r *http.Request) {
		one := `"name":"` + hostile + `","version":1,"generation":2`
		_, _ = io.WriteString(w,
			`{"generations":[{`+one+`}],"head":"`+hostile+`","projections":[{`+one+`,"state":"stopped","reason":"`+hostile+
				`","position":"`+hostile+`"}],"parked":[{`+one+`,"event_id":"`+hostile+`","type":"`+hostile+`","stream":"`+hostile+
				`","position":"`+hostile+`","state":"`+hostile+`","reason":"`+hostile+`"}],"next":"`+hostile+
				`","account_id":"`+hostile+`","plan":"`+hostile+`","apikey":"`+hostile+
				`","applied":1,"success":true,"stream":"account-`+hostile+`","unconfirmed":true,"event_id":"`+hostile+
				`","rebuild":["`+hostile+
				`"],"skips":[{"event_id":"`+hostile+`","stream":"`+hostile+`","type":"`+hostile+`","by":"`+hostile+`","reason":"`+
				hostile+`"}]}`)
	})
	for _, environment := range [][]string{refusing, telling} {
		for _, command := range []string{
			"accounts create", "accounts create --format json",
			"projections list", "projections list --format json", "projections list --format csv",
			"projections rebuild account --max-outage 1ms", "projections rebuild account --max-outage 1ms --format json",
			"projections promote account", "projections rollback account",
			"projections retire account --generation 2 --yes", "projections parked list --limit 1",
			"projections parked list --limit 1 --format csv",
			"projections parked retry account --event x", "projections parked skip x --reason y --yes",
			"projections parked skipped", "projections parked unskip x --reason y",
		} {
			t.Run(command, func(t *testing.T) {
				got := recitalctl(t, environment, strings.Fields(command)...)
				for _, text := range []string{got.out, got.notes} {
					for _, c := range text {
						if c != '\n' && c != '\t' && (unicode.IsControl(c) || c == '\u202e') {
							require.Fail(t, "a control character", "%U in %q", c, text)
						}
					}
					for _, line := range strings.Split(text, "\n") {
						assert.False(t, strings.HasPrefix(line, "fake line"), text)
					}
				}
			})
		}
	}
}

func TestProjectionsRefuseWrongUsage(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"projections", "projections rebuild", "projections rebuild account --all",
		"projections rebuild account --max-outage=-1s",
		"projections rebuild account --format csv", "projections follow --max-outage=-1s", "projections promote",
		"projections promote account usage --generation 2",
		"projections rollback", "projections rollback account usage", "projections retire account",
		"projections list --format xml",
		"projections parked", "projections parked list --limit 0", "projections parked retry account",
		"projections parked skip", "projections parked confirm", "projections parked unskip",
	} {
		t.Run(command, func(t *testing.T) {
			got := recitalctl(t, nil, strings.Fields(command)...)
			assert.Equal(t, exitUsage, got.code, got.notes)
			assert.Empty(t, got.out)
			assert.Contains(t, got.notes, "see recitalctl --help")
		})
	}
}

func TestIrreversibleCommandsNeedConfirmation(t *testing.T) {
	t.Parallel()
	environment := impostor(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") })
	for _, command := range []string{
		"projections retire account --generation 2", "projections parked skip x --reason y", "accounts close x",
	} {
		got := recitalctl(t, environment, strings.Fields(command)...)
		assert.Equal(t, exitUsage, got.code)
		assert.Contains(t, got.notes, "give --yes")
	}
}

func TestARefusalIsNotReportedAsAWrongAddress(t *testing.T) {
	t.Parallel()
	for body, says := range map[string]string{
		`{"error":"There is no such read model or generation"}`: "recitald refused: There is no such read " +
			"model or generation",
		`{"detail":"Not Found","error":"Not Found","message":"Not Found"}`: "is it the admin address of a recitald of " +
			"this version?",
	} {
		environment := impostor(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, body)
		})
		got := recitalctl(t, environment, "projections", "promote", "nonsense")
		assert.Equal(t, exitFailed, got.code)
		assert.Contains(t, got.notes, says)
	}
}

func TestPagesOfParkedEventsAreReadTogether(t *testing.T) {
	t.Parallel()
	environment := impostor(t, func(w http.ResponseWriter, r *http.Request) {
		after := 0
		_, _ = fmt.Sscanf(r.URL.Query().Get("after"), "%d/", &after)
		assert.Contains(t, []string{"500", "200", "100"}, r.URL.Query().Get("limit"))
		var limit int
		_, _ = fmt.Sscan(r.URL.Query().Get("limit"), &limit)
		page, next := []string{}, "null"
		for i := after + 1; i <= 650 && len(page) < limit; i++ {
			page = append(page, fmt.Sprintf(
				`{"name":"account","version":1,"generation":1,"event_id":"e%d","position":"%d/%[1]d"}`, i, i))
		}
		if len(page) == limit {
			next = fmt.Sprintf(`"%d/%[1]d"`, after+limit)
		}
		fmt.Fprintf(w, `{"parked":[%s],"next":%s}`, strings.Join(page, ","), next)
	})
	got := succeeds(t, environment, "projections", "parked", "list", "--limit", "700", "--format", "csv")
	assert.Equal(t, 651, strings.Count(got.out, "\n"), "a head and all events")
	assert.Contains(t, got.out, ",e650,")

	got = succeeds(t, environment, "projections", "parked", "list")
	assert.Equal(t, 101, strings.Count(got.out, "\n"))
	assert.Contains(t, got.notes, "--after 100/100")
}
