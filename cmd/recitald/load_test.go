package main_test

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web/openapi/openapitest"
)

// speech is the request that the clients of a load repeat.
type speech struct {
	route      string
	format     string
	characters int64
}

func (s speech) order() order {
	return order{"text": prose(int(s.characters)), "voice": "leah", "format": s.format}
}

// attempt is one request of a load and its outcome.
type attempt struct {
	speech     speech
	account    string
	generation string // identifies its reservation in the log; empty without response headers
	status     int    // 0 without response headers
	body       []byte
	warning    string
	err        error // of an interrupted response
}

// clean reports whether the client must assume that the response is complete.
func (a attempt) clean() bool { return a.status == http.StatusOK && a.err == nil }

// try makes one request and reads the complete response.
func (c customer) try(client *http.Client, s speech) attempt { return c.tryOrder(client, s, s.order()) }

// tryOrder is try with another body.
func (c customer) tryOrder(client *http.Client, s speech, o order) attempt {
	a := attempt{speech: s, account: c.id}
	response, err := client.Do(c.request(http.MethodPost, s.route, o.encode()))
	if err != nil {
		a.err = err
		return a
	}
	defer response.Body.Close()
	a.status, a.generation = response.StatusCode, response.Header.Get("X-Generation-Id")
	a.warning = response.Header.Get("X-Warning")
	a.body, a.err = io.ReadAll(response.Body)
	return a
}

// load is a set of active clients, each of which makes one request after the other.
type load struct {
	stopped chan struct{}
	stopNow sync.Once
	running sync.WaitGroup

	mu       sync.Mutex
	attempts []attempt
}

// everyKind returns the requests that an account's clients repeat.
func everyKind() []speech {
	return []speech{
		{bytesRoute, "mp3", 1500},
		{bytesRoute, "pcm_s16le", 800},
		{detailedRoute, "wav", 150},
	}
}

// startLoad starts one client of every kind for each customer.
func startLoad(t *testing.T, customers ...customer) *load {
	t.Helper()
	l := &load{stopped: make(chan struct{})}
	t.Cleanup(func() { l.stop() })
	for _, c := range customers {
		for _, s := range everyKind() {
			l.running.Go(func() { l.run(c, s) })
		}
	}
	return l
}

func (l *load) run(c customer, s speech) {
	client := &http.Client{Transport: openapitest.Through(&http.Transport{})}
	defer client.CloseIdleConnections()
	for {
		a := c.try(client, s)
		l.mu.Lock()
		l.attempts = append(l.attempts, a)
		l.mu.Unlock()
		rest := time.Duration(0)
		if !a.clean() {
			rest = pause // a server that is down is not polled continuously
		}
		select {
		case <-l.stopped:
			return
		case <-time.After(rest):
		}
	}
}

// clean returns the number of requests that have succeeded so far.
func (l *load) clean() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.attempts {
		if a.clean() {
			n++
		}
	}
	return n
}

// stop waits for the last responses and returns all attempts.
func (l *load) stop() []attempt {
	l.stopNow.Do(func() { close(l.stopped) })
	l.running.Wait()
	return l.attempts
}

// complete is the audio of each kind, synthesised without disturbance. Engine and codecs are deterministic.
type complete map[speech][]byte

func listen(t *testing.T, c customer, kinds ...speech) complete {
	t.Helper()
	all := complete{}
	for _, s := range kinds {
		a := c.try(http.DefaultClient, s)
		require.True(t, a.clean(), "status %d, error %v", a.status, a.err)
		all[s] = a.sound(t)
	}
	return all
}

// sound returns the audio of a clean attempt.
func (a attempt) sound(t *testing.T) []byte {
	t.Helper()
	if a.speech.route == bytesRoute {
		return a.body
	}
	var r recording
	reply{body: a.body}.decode(t, &r)
	return r.sound(t)
}

// requireWhole checks that every reply that appears complete is complete.
func (all complete) requireWhole(t *testing.T, attempts []attempt) {
	t.Helper()
	for _, a := range attempts {
		if a.clean() {
			sound := a.sound(t)
			require.True(t, bytes.Equal(all[a.speech], sound), "%v ended cleanly with %d of %d bytes", a.speech, len(sound),
				len(all[a.speech]))
		}
	}
}

// requireFair checks that the usage has all characters of requests that succeeded, none of those that were refused and
// at most all of those that were interrupted, and that each account's usage is within the sum of these.
func (b books) requireFair(t *testing.T, attempts []attempt) {
	t.Helper()
	least, most := map[string]int64{}, map[string]int64{}
	for _, a := range attempts {
		counted, whole := b.settled[a.generation], a.speech.characters
		switch {
		case a.clean():
			require.Equal(t, whole, counted, "a request that ended cleanly")
			least[a.account] += whole
			most[a.account] += whole
		case a.status >= 400 && a.status < 500:
			require.Zero(t, counted, "a request that was refused")
		default:
			require.LessOrEqual(t, counted, whole, "a request that was cut")
			least[a.account] += counted
			most[a.account] += whole
		}
	}
	for account := range most {
		require.LessOrEqual(t, least[account], b.charactersOf(account), "characters of %s", account)
		require.GreaterOrEqual(t, most[account], b.charactersOf(account), "characters of %s", account)
	}
}
