package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

var (
	trouble = regexp.MustCompile("level=(WARN|ERROR)")
	// No payment provider answers these instances, and a slow machine may exceed a time limit.
	mayBeSaid = regexp.MustCompile("payment|deadline exceeded|timeout|was interrupted|cannot be reached|circuit")
)

func TestTwoInstancesThatStartTogetherServeEachOthersWrites(t *testing.T) {
	t.Parallel()
	// given an empty log and an empty database, and two instances that start at the same moment
	on := outsideServices(t)
	first, second := on.launchTwo(t)

	// then both are ready, and neither has created its own key, node or Postgres
	for _, s := range []*server{first, second} {
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			assert.ElementsMatch(c, append([]string{"lock", "format.json", "addresses", "spool", "uploads", "cloning",
				"seen.json"}, on.files()...), s.files())
		}, patience, pause)
		require.NotContains(t, s.said(), "rk_")
		for line := range strings.Lines(read(t, s.log)) {
			require.True(t, mayBeSaid.MatchString(line) || !trouble.MatchString(line), line)
		}
	}

	// and the address of a reply's times is the public one, and is served by both
	spoken := first.openAccount("free").post(t, bytesRoute,
		order{"text": "Hello.", "voice": "leah", "return_timestamps": true})
	path, isPublic := strings.CutPrefix(spoken.header.Get("x-timestamps-url"), "https://recital.example")
	require.True(t, isPublic, spoken.header)
	requireTimes(t, "Hello.", readTimes(t, second.address+path))

	// when clients write on one and read on the other, concurrently and in both directions
	const clients, rounds, characters = 6, 8, 40
	var group sync.WaitGroup
	for client := range clients {
		here, there := first, second
		if client%2 == 1 {
			here, there = second, first
		}
		c := here.openAccount("indie")
		group.Go(func() {
			for round := range rounds {
				written, err := c.at(here).speak(characters)
				if !assert.NoError(t, err) {
					return
				}
				// then each sees its own writes immediately
				used, err := c.at(there).usedAt(written)
				if !assert.NoError(t, err) || !assert.EqualValues(t, (round+1)*characters, used, "after %d writes", round+1) {
					return
				}
				here, there = there, here
			}
		})
	}
	group.Wait()
}

func TestAReadOnOneInstanceWaitsForAWriteOnTheOther(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	on := outsideServices(t)
	first, second := on.launchTwo(t)
	for name, way := range map[string][2]*server{"one way": {first, second}, "the other way": {second, first}} {
		t.Run(name, func(t *testing.T) {
			c := way[0].openAccount("indie")
			there := c.at(way[1])
			require.Zero(t, there.usage(t))

			// given a write in the log that cannot reach the read models yet
			unlock := lockUsage(t, on.postgres)
			late := once(t, c.request(http.MethodPost, detailedRoute, order{"text": prose(100), "voice": "leah"}.encode()))
			require.Equal(t, 200, late.status, late.text())
			require.Equal(t, "true", late.header.Get("X-Recital-Stale"))
			position := late.header.Get("X-Recital-Position")

			// when it is read on the other instance, then that returns 504 and not old data
			refused := once(t, there.request(http.MethodGet, "/v1/account", nil, "X-Recital-Min-Position", position))
			require.Equal(t, 504, refused.status, refused.text())
			require.NotEmpty(t, refused.header.Get("Retry-After"))
			require.Zero(t, there.usage(t), "without a position")

			// when it reaches the read models, then the other instance shows it
			unlock()
			require.EqualValues(t, 100, there.usage(t, "X-Recital-Min-Position", position))
		})
	}
}

func TestProdRefusesToStartWithoutWhatItNeeds(t *testing.T) {
	t.Parallel()
	s := prepare(t, newFolder(t))
	s.launch([]string{"--data-dir=" + s.data, "--http-addr=0.0.0.0:0", "--mode=prod"})
	t.Cleanup(s.kill)
	s.awaitEnd()
	require.Error(t, s.err)
	require.Contains(t, read(t, s.log), "mode prod brings nothing along; set ")
	require.Contains(t, read(t, s.log), "RECITAL_OPERATOR_TOKEN_FILE")
	require.Empty(t, s.files())
}

// services are a shared event store, Postgres and folder of blobs, and shared secrets by file name.
type services struct {
	events, postgres, blobs string
	secrets                 map[string]string
}

func (on services) files() []string { return slices.Collect(maps.Keys(on.secrets)) }

func outsideServices(t *testing.T) services {
	t.Helper()
	folder := newFolder(t)
	node, err := eventnode.Open(eventnode.Config{
		Dir: filepath.Join(folder, "log"), Socket: filepath.Join(folder, "node.sock"), Address: "127.0.0.1:0",
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	return services{
		events:   "esdb://" + node.Addr().String() + "?tls=false",
		postgres: pgtest.Empty(t).Config().ConnString(),
		blobs:    filepath.Join(folder, "blobs"),
		secrets:  sharedSecrets(),
	}
}

// sharedSecrets returns the contents of the files that instances in mode prod share.
func sharedSecrets() map[string]string {
	return map[string]string{
		"operator-token": strings.Repeat("operator", 8), "auditor-token": strings.Repeat("auditor", 8),
		"master-key": strings.Repeat("0f", 32), "signing-key": strings.Repeat("f0", 32),
		"audit-key": strings.Repeat("3c", 32),
	}
}

// launch starts an instance in mode prod with its own folder, without waiting for it.
func (on services) launch(t *testing.T) *server {
	t.Helper()
	return on.launchIn(t, newFolder(t))
}

// launchTwo starts two instances at the same moment, and returns when both are running.
func (on services) launchTwo(t *testing.T) (first, second *server) {
	t.Helper()
	first, second = on.launch(t), on.launch(t)
	for _, s := range []*server{first, second} {
		s.awaitRunning()
		s.eventually(s.isReady)
	}
	return first, second
}

func (on services) launchIn(t *testing.T, data string, more ...string) *server {
	t.Helper()
	s := prepare(t, data)
	flags := []string{
		"--mode=prod", "--http-addr=0.0.0.0:0", "--admin-addr=0.0.0.0:0", "--data-dir=" + data,
		"--eventstore=" + on.events, "--postgres=" + on.postgres, "--blobs=" + on.blobs,
		"--public-url=https://recital.example",
		"--redirect-origins=https://app.example",
	}
	provider := filepath.Join(filepath.Dir(on.blobs), "idp-1-secret")
	require.NoError(t, os.WriteFile(provider, []byte("secret\n"), 0o600))
	flags = append(flags, "--idp-1=https://idp.example recital "+provider)
	// no provider answers
	flags = append(flags, "--stripe-key=sk_test_nobody", "--stripe-webhook-secret=whsec_nobody",
		"--stripe-url=https://127.0.0.1:9")
	for name, secret := range on.secrets {
		path := filepath.Join(data, name)
		require.NoError(t, os.WriteFile(path, []byte(secret+"\n"), 0o600))
		flags = append(flags, "--"+name+"-file="+path)
	}
	s.launch(append(flags, more...))
	t.Cleanup(s.kill)
	return s
}

// prepare returns a server that is not started yet.
func prepare(t *testing.T, data string) *server {
	t.Helper()
	said := t.TempDir()
	return &server{t: t, data: data, ended: make(chan struct{}), output: filepath.Join(said, "stdout"),
		log: filepath.Join(said, "stderr")}
}

var prodLine = regexp.MustCompile(`(?m)^Recital is running: address (http://\S+), admin (http://\S+)$`)

// awaitRunning waits until an instance in mode prod has printed that it is running.
func (s *server) awaitRunning() {
	s.t.Helper()
	s.eventually(func() bool { return prodLine.MatchString(s.said()) || s.hasEnded() })
	require.False(s.t, s.hasEnded(), "recitald did not start: %s", read(s.t, s.log))
	told := prodLine.FindStringSubmatch(s.said())
	s.address, s.admin = told[1], told[2]
}

func (s *server) isReady() bool {
	s.t.Helper()
	return do(s.t, customer{server: s}.request(http.MethodGet, "/ready_check", nil)).status == http.StatusOK
}

// files returns the names in the data folder.
func (s *server) files() []string {
	s.t.Helper()
	entries, err := os.ReadDir(s.data)
	require.NoError(s.t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// lockUsage blocks all writes to the read model of usage.
func lockUsage(t *testing.T, url string) (unlock func()) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close(context.Background()) })
	transaction, err := connection.Begin(t.Context())
	require.NoError(t, err)
	_, err = transaction.Exec(t.Context(), "lock table read_v1.usage_periods, read_v1.open_reservations in share mode")
	require.NoError(t, err)
	return func() {
		t.Helper()
		require.NoError(t, transaction.Rollback(t.Context()))
	}
}

// speak synthesises a text with the given number of characters and returns the position of its usage.
func (c customer) speak(characters int) (position string, err error) {
	request := c.request(http.MethodPost, detailedRoute, order{"text": prose(characters), "voice": "leah"}.encode())
	answer, err := send(request)
	if err != nil {
		return "", err
	}
	return answer.header.Get("X-Recital-Position"), nil
}

// usedAt returns the usage in GET /v1/account at a minimum position.
func (c customer) usedAt(position string) (characters int64, err error) {
	read := func() (reply, error) {
		return send(c.request(http.MethodGet, "/v1/account", nil, "X-Recital-Min-Position", position))
	}
	answer, err := read()
	for end := time.Now().Add(lateness); answer.isLate() && time.Now().Before(end); answer, err = read() {
		time.Sleep(pause)
	}
	if err != nil {
		return 0, err
	}
	var shown accountView
	err = json.Unmarshal(answer.body, &shown)
	return shown.Usage.Characters, err
}

// send is do for a test's goroutines, which must not end the test. Every status but 200 is an error.
func send(request *http.Request) (reply, error) {
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s %s", request.Method, request.URL.Path, response.Status, body)
	}
	return reply{status: response.StatusCode, header: response.Header, body: body}, err
}
