package changes_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/changes"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	readapi "github.com/recital-tts/recital/readapi/changes"
)

func TestMain(m *testing.M) { webtest.Main(m) }

// patience bounds each wait on a busy machine; nothing is timed.
const patience = time.Minute

// desk serves the changes of a log that the test writes, from position 10.
type desk struct {
	*changes.Notifier
	t       *testing.T
	url     string
	mu      sync.Mutex
	revoked func()
}

// Watch implements web.Revocations.
func (d *desk) Watch(_ web.Principal, revoked func()) (stop func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.revoked = revoked
	return func() {}
}

func (d *desk) revoke() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.revoked()
}

func newDesk(t *testing.T, cfg changes.Config, api readapi.API) *desk {
	t.Helper()
	d := &desk{t: t}
	cfg.Wait = func(context.Context, eventlog.Position) error { return nil }
	cfg.Pause = -1
	d.Notifier = changes.New(cfg)
	d.Begin(at(10))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	api.Changes = d.Notifier
	d.url = webtest.Serve(t, web.Config{
		Routes: api.Routes(), Authenticator: webtest.Keys{}, Revocations: d,
	}) + "/v1/account/events"
	return d
}

func at(n uint64) eventlog.Position { return eventlog.Position{Commit: n, Prepare: n} }

func (d *desk) use(n uint64) {
	d.Note(eventlog.Recorded{Position: at(n), Stream: "usage-a1-1764000000", Type: "usage-settled"})
}

// request sends a request of account a1, and leaves its response unread.
func (d *desk) request(method, query string, headers ...string) *http.Response {
	d.t.Helper()
	request, err := http.NewRequestWithContext(d.t.Context(), method, d.url+query, nil)
	require.NoError(d.t, err)
	request.Header.Set("X-Api-Key", "a1")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(d.t, err)
	d.t.Cleanup(func() { response.Body.Close() })
	return response
}

// listener reads the blocks of a stream.
type listener struct {
	t     *testing.T
	body  io.ReadCloser
	lines *bufio.Reader
}

func (d *desk) listen(query string, headers ...string) *listener {
	d.t.Helper()
	response := d.request(http.MethodGet, query, headers...)
	require.Equal(d.t, 200, response.StatusCode)
	require.Equal(d.t, "text/event-stream", response.Header.Get("Content-Type"))
	require.Equal(d.t, "no-store", response.Header.Get("Cache-Control"))
	require.Equal(d.t, "no", response.Header.Get("X-Accel-Buffering"))
	l := &listener{d.t, response.Body, bufio.NewReader(response.Body)}
	l.require("retry: 2000")
	return l
}

// next returns the next block, and an error at the end of the stream.
func (l *listener) next() (string, error) {
	var block strings.Builder
	for {
		line, err := l.lines.ReadString('\n')
		if err != nil || line == "\n" {
			return strings.TrimSuffix(block.String(), "\n"), err
		}
		block.WriteString(line)
	}
}

func (l *listener) require(lines ...string) {
	l.t.Helper()
	block, err := l.next()
	require.NoError(l.t, err)
	require.Equal(l.t, strings.Join(lines, "\n"), block)
}

func (l *listener) requireChange(part, position string) {
	l.t.Helper()
	l.require("id: "+position, "event: "+part, `data: {"position":"`+position+`"}`)
}

func (d *desk) requireClosed() {
	d.t.Helper()
	require.Eventually(d.t, func() bool { return d.Open() == 0 }, patience, time.Millisecond, "a stream is left open")
}

func TestChangesAreEventsThatResume(t *testing.T) {
	d := newDesk(t, changes.Config{}, readapi.API{})
	l := d.listen("")
	l.requireChange("reset", "10/10")
	d.use(11)
	l.requireChange("usage", "11/11")
	l.body.Close()
	d.requireClosed()

	d.use(12)
	d.listen("", "Last-Event-ID", "11/11").requireChange("usage", "12/12")
	d.listen("?after=11/11").requireChange("usage", "12/12")
	d.listen("?after=9/9", "Last-Event-ID", "11/11").requireChange("usage", "12/12")
	d.listen("", "Last-Event-ID", "9/9").requireChange("reset", "12/12")
}

func TestAQuietStreamSaysThatItLivesAndHowFarTheLogHasCome(t *testing.T) {
	d := newDesk(t, changes.Config{}, readapi.API{Heartbeat: time.Millisecond})
	l := d.listen("", "Last-Event-ID", "10/10")
	l.require(":", "id: 10/10")
	l.require(":", "id: 10/10")
}

func TestAStreamHasALengthAfterWhichItEndsInOrder(t *testing.T) {
	d := newDesk(t, changes.Config{}, readapi.API{Length: 50 * time.Millisecond, Heartbeat: time.Millisecond})
	l := d.listen("")
	_, err := io.ReadAll(l.lines)
	require.NoError(t, err, "it was cut")
	d.requireClosed()
}

func TestAStreamEndsWithItsCredential(t *testing.T) {
	d := newDesk(t, changes.Config{}, readapi.API{})
	l := d.listen("")
	l.requireChange("reset", "10/10")
	d.revoke()
	_, err := l.next()
	require.Error(t, err)
	d.requireClosed()
}

// A client that stops reading does not hold up other clients, and gets the last change when it reads again.
func TestASlowReaderIsToldTheLastChange(t *testing.T) {
	d := newDesk(t, changes.Config{}, readapi.API{})
	slow, quick := d.listen("", "Last-Event-ID", "10/10"), d.listen("", "Last-Event-ID", "10/10")
	for n := uint64(11); n <= 100_000; n++ {
		d.use(n)
	}
	for _, l := range []*listener{quick, slow} {
		for block := ""; !strings.Contains(block, "id: 100000/100000"); {
			var err error
			block, err = l.next()
			require.NoError(t, err)
		}
	}
}

func TestStreamsBeyondTheBudgetsAreRefused(t *testing.T) {
	d := newDesk(t, changes.Config{Streams: 2, AccountStreams: 1}, readapi.API{})
	l := d.listen("")

	refused := d.request(http.MethodGet, "")
	require.Equal(t, 429, refused.StatusCode)
	require.NotEmpty(t, refused.Header.Get("Retry-After"))

	d.listen("", "X-Api-Key", "a2")
	refused = d.request(http.MethodGet, "", "X-Api-Key", "a3")
	require.Equal(t, 503, refused.StatusCode)
	require.NotEmpty(t, refused.Header.Get("Retry-After"))

	l.body.Close()
	require.Eventually(t, func() bool { return d.Open() == 1 }, patience, time.Millisecond)
	d.listen("")
}

func TestWhatNeedsNoStreamHoldsNone(t *testing.T) {
	d := newDesk(t, changes.Config{AccountStreams: 1}, readapi.API{})
	for range 3 {
		require.Equal(t, 200, d.request(http.MethodHead, "").StatusCode)
		require.Equal(t, 422, d.request(http.MethodGet, "", "Last-Event-ID", strings.Repeat("1", 65)).StatusCode)
		require.Equal(t, 401, d.request(http.MethodGet, "", "X-Api-Key", "").StatusCode)
	}
	d.requireClosed()
}

func TestAStreamEndsWhenTheServerDrains(t *testing.T) {
	var l *listener
	t.Run("served", func(t *testing.T) {
		d := newDesk(t, changes.Config{}, readapi.API{})
		l = d.listen("")
		l.requireChange("reset", "10/10")
	}) // its cleanup waits until all connections are closed
	_, err := l.next()
	require.Error(t, err)
	require.False(t, errors.Is(err, context.DeadlineExceeded))
}
