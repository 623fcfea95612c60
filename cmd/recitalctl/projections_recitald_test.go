package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// listed returns the generations of a read model by number.
func listed(t *testing.T, environment []string, name string) map[int]adminapi.GenerationReply {
	t.Helper()
	got := succeeds(t, environment, "projections", "list", "--format", "json")
	var all adminapi.OverviewReply
	require.NoError(t, json.Unmarshal([]byte(got.out), &all), got.out)
	found := map[int]adminapi.GenerationReply{}
	for _, g := range all.Projections {
		if g.Name == name {
			found[g.Generation] = g
		}
	}
	return found
}

// reads reads the account of a key, and returns the error or unexpected status, "" if there is none.
func reads(ctx context.Context, address, key string) (failed string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/account", nil)
	if err != nil {
		return err.Error()
	}
	request.Header.Set("x-api-key", key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		return response.Status + ": " + string(body)
	}
	return ""
}

// load continuously opens accounts, and reads the first one.
type load struct {
	stop   func()
	opened atomic.Int64
	mu     sync.Mutex
	keys   []string
	failed []string
}

func startLoad(t *testing.T, admin, public, dataDir string) *load {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(dataDir, "operator-token"))
	require.NoError(t, err)
	l := &load{}
	ctx, cancel := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	l.stop = sync.OnceFunc(func() { cancel(); workers.Wait() })
	t.Cleanup(l.stop)
	workers.Go(func() {
		for ctx.Err() == nil {
			l.open(ctx, admin, strings.TrimSpace(string(token)))
		}
	})
	require.Eventually(t, func() bool { return l.opened.Load() > 0 }, patience, interval)
	first := l.keys[0]
	workers.Go(func() {
		for ctx.Err() == nil {
			if failure := reads(ctx, public, first); failure != "" && ctx.Err() == nil {
				l.fail("reading: " + failure)
			}
		}
	})
	return l
}

func (l *load) open(ctx context.Context, admin, token string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+admin+"/admin/accounts",
		strings.NewReader(`{"plan":"indie"}`))
	if err != nil {
		l.fail(err.Error())
		return
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		if ctx.Err() == nil {
			l.fail("opening: " + err.Error())
		}
		return
	}
	defer response.Body.Close()
	var opened adminapi.OpenResponse
	err = json.NewDecoder(response.Body).Decode(&opened)
	switch {
	case ctx.Err() != nil:
	case err != nil || response.StatusCode != http.StatusOK:
		l.fail("opening: " + response.Status)
	default:
		l.mu.Lock()
		l.keys = append(l.keys, opened.APIKey)
		l.mu.Unlock()
		l.opened.Add(1)
	}
}

func (l *load) fail(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = append(l.failed, what)
}

func TestRebuildPromoteRollBackAndRetireUnderLoad(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given a recitald with active clients
	a, dataDir := startRecitald(t)
	environment := []string{"RECITAL_ADMIN_ADDR=" + a.AdminAddr(), "RECITAL_DATA_DIR=" + dataDir}
	load := startLoad(t, a.AdminAddr(), a.PublicAddr(), dataDir)
	require.Eventually(t, func() bool { return load.opened.Load() >= 20 }, patience, interval)

	// when everything is rebuilt and promoted
	got := succeeds(t, environment, "projections", "rebuild", "--all", "--promote")
	assert.Regexp(t, `(?m)^account +\d+ +2 +yes +`, got.out)
	assert.Regexp(t, `(?m)^usage +\d+ +2 +yes +`, got.out)
	assert.Contains(t, got.notes, "account v1 g2 ")
	assert.Contains(t, got.notes, "Live now.")
	more := load.opened.Load() + 20
	require.Eventually(t, func() bool { return load.opened.Load() >= more }, patience, interval)
	load.stop()

	// then no reader saw an error, and the new generation has all accounts
	require.Empty(t, load.failed)
	requireAllRead(t, a.PublicAddr(), load.keys)
	accounts := listed(t, environment, "account")
	require.Len(t, accounts, 2)
	require.True(t, accounts[2].Live)
	require.False(t, accounts[1].Live)

	got = succeeds(t, environment, "projections", "list", "--wide")
	assert.Regexp(t, `(?m)^NAME +VERSION +GENERATION +LIVE +STATE +POSITION +LAG +ROWS +SIZE +PARKED$`, got.out)
	assert.Regexp(t, `(?m)^account +\d+ +1 +no +current +\d+/\d+ +\S+ +[\d,]+ +\d+\.\d KiB +0$`, got.out)

	// when it is rolled back, then the previous live generation has all events since
	got = succeeds(t, environment, "projections", "rollback", "account")
	assert.Regexp(t, `(?m)^account +\d+ +1$`, got.out)
	requireAllRead(t, a.PublicAddr(), load.keys)
	require.True(t, listed(t, environment, "account")[1].Live)

	// when the other is promoted again, and then retired after being declined once
	got = succeeds(t, environment, "projections", "promote", "account", "--generation", "2", "--format", "csv")
	assert.Equal(t, "name,version,generation\naccount,1,2\n", got.out)
	got = recitalctl(t, environment, "projections", "retire", "account", "--generation", "2", "--yes")
	assert.Equal(t, exitFailed, got.code)
	assert.Contains(t, got.notes, "is live")
	got = succeeds(t, environment, "projections", "retire", "account", "--generation", "1", "--yes")
	require.Len(t, listed(t, environment, "account"), 1)
	requireAllRead(t, a.PublicAddr(), load.keys)

	// then there is no generation to roll back to
	got = recitalctl(t, environment, "projections", "rollback", "account")
	assert.Equal(t, exitFailed, got.code)
	assert.Contains(t, got.notes, "none was live before")

	// and the metrics agree after the next look at the catalogue
	var figures string
	require.Eventually(t, func() bool {
		figures = metrics(t, a.AdminAddr(), dataDir)
		return strings.Contains(figures,
			`recital_projection_state{generation="2",projection="account",state="current",version="1"} 1`) &&
			!strings.Contains(figures, `recital_projection_parked{generation="1",projection="account"`)
	}, time.Minute, 100*time.Millisecond)
	for _, figure := range []string{
		`recital_projection_parked{generation="2",projection="account",version="1"} 0`,
		`recital_projection_lag_seconds{generation="2",projection="account",version="1"} `,
		`recital_projection_events_total{generation="2",projection="account",version="1"} `,
	} {
		assert.Contains(t, figures, figure)
	}
}

func requireAllRead(t *testing.T, address string, keys []string) {
	t.Helper()
	for _, key := range keys {
		require.Empty(t, reads(t.Context(), address, key))
	}
}

func metrics(t *testing.T, admin, dataDir string) string {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(dataDir, "auditor-token"))
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin+"/metrics", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}

func TestAPersonAtATerminal(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	a, dataDir := startRecitald(t)
	environment := []string{"RECITAL_ADMIN_ADDR=" + a.AdminAddr(), "RECITAL_DATA_DIR=" + dataDir}

	t.Run("sees a progress bar", func(t *testing.T) {
		code, screen := onTerminal(t, environment, "projections", "rebuild", "--all").ends()
		require.Zero(t, code, screen)
		assert.Regexp(t, `account v\d g2 +\[`, screen)
		for _, part := range []string{"=", "100 %", "done", "\x1b["} {
			assert.Contains(t, screen, part)
		}
		assert.Regexp(t, `recitalctl projections promote account( \w+)* clips`, screen)
	})
	t.Run("is asked", func(t *testing.T) {
		for answer, c := range map[string]struct {
			code int
			says string
		}{"n\n": {exitFailed, "nothing was changed"}, "\n": {exitFailed, "nothing was changed"},
			"\x03": {exitFailed, "nothing was changed"}} {
			retire := onTerminal(t, environment, "projections", "retire", "usage", "--generation", "2")
			retire.awaitText("Drop generation 2 of usage with its tables? [y/N] ")
			retire.types(answer)
			code, screen := retire.ends()
			assert.Equal(t, c.code, code)
			assert.Contains(t, screen, c.says)
		}
		require.Len(t, listed(t, environment, "usage"), 2)

		retire := onTerminal(t, environment, "projections", "retire", "usage", "--generation", "2")
		retire.awaitText("[y/N] ")
		retire.types("y\n")
		code, screen := retire.ends()
		require.Zero(t, code, screen)
		require.Len(t, listed(t, environment, "usage"), 1)
	})
	t.Run("gets no control characters from a server", func(t *testing.T) {
		hostileServer := impostor(t, func(w http.ResponseWriter, _ *http.Request) {
			one := `"name":"` + hostile + `","version":1,"generation":2`
			_, _ = io.WriteString(w,
				`{"generations":[{`+one+`}],"head":"9/9","projections":[{`+one+`,"state":"stopped","reason":"`+hostile+
					`","position":"1/1"}]}`)
		})
		code, screen := onTerminal(t, hostileServer, "projections", "rebuild", "account").ends()
		assert.Equal(t, exitFailed, code)
		assert.Contains(t, screen, `\u001b]0;owned`)
		for _, sequence := range []string{"\x1b]", "\x07", "\u009b", "\u202e"} {
			assert.NotContains(t, screen, sequence)
		}
	})
}

// appendPoison appends an account with an id that Postgres does not accept.
func appendPoison(t *testing.T, dataDir string) {
	t.Helper()
	appendFirst(t, dataDir, "account-poison", account.Opened{Account: "poison\x00", Plan: "free", At: time.Now()})
}

func TestAnEventThatNoGenerationCanHandle(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given a read model that stopped before a poison event
	a, dataDir := startRecitald(t)
	environment := []string{"RECITAL_ADMIN_ADDR=" + a.AdminAddr(), "RECITAL_DATA_DIR=" + dataDir}
	appendPoison(t, dataDir)
	require.Eventually(t, func() bool { return listed(t, environment, "account")[1].State == stopped }, patience, interval)

	got := succeeds(t, environment, "projections", "list")
	assert.Regexp(t, `(?m)^account +\d+ +1 +yes +stopped `, got.out)
	assert.Regexp(t, `(?m)^generation 1 of account version 1 is stopped: .*account-poison`, got.out)

	// when it is rebuilt, then the rebuild stops there, too, and the output has advice
	got = recitalctl(t, environment, "projections", "rebuild", "account", "--promote")
	assert.Equal(t, exitFailed, got.code)
	assert.Empty(t, got.out)
	assert.Contains(t, got.notes, "generation 2 of account version 1 stopped: ")
	assert.Contains(t, got.notes, "recitalctl projections parked skip ID --reason TEXT")

	got = succeeds(t, environment, "projections", "parked", "list", "--format", "json")
	var page adminapi.ParkedReply
	require.NoError(t, json.Unmarshal([]byte(got.out), &page))
	// Others read this stream, too.
	parked := slices.DeleteFunc(page.Parked, func(e adminapi.ParkedEventReply) bool { return e.Name != "account" })
	require.Len(t, parked, 2, "one of each generation")
	require.Equal(t, []string{"blocking", "account-poison", "account-opened"},
		[]string{parked[0].State, parked[0].Stream, parked[0].Type})
	event := parked[0].EventID

	// when it is retried without a fix, then it stops again
	got = succeeds(t, environment, "projections", "parked", "retry", "account", "--event", event)
	assert.Contains(t, got.notes, "are restarted")
	require.Eventually(t, func() bool { return listed(t, environment, "account")[1].State == stopped }, patience, interval)

	// when the event is skipped, then the live generation and the rebuild continue
	got = succeeds(t, environment, "projections", "parked", "skip", event, "--reason", "it has a NUL", "--yes")
	assert.Contains(t, got.notes, "It may hide that an API key or all sessions of account poison were revoked")
	require.Eventually(t, func() bool { return listed(t, environment, "account")[1].State == current }, patience, interval)
	got = succeeds(t, environment, "projections", "follow", "account")
	require.True(t, listed(t, environment, "account")[2].Live)
	got = succeeds(t, environment, "projections", "parked", "skipped", "--format", "csv")
	assert.Contains(t, got.out, event+",account-poison,0,account-opened,true,")

	got = recitalctl(t, environment, "projections", "parked", "retry", "account", "--event", uuid.NewString())
	assert.Equal(t, exitFailed, got.code)
	assert.Contains(t, got.notes, "There is no such parked event")
}
