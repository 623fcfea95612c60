package main_test

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/web/openapi/openapitest"
)

// speech is what the clients of a load ask for, again and again.
type speech struct {
	route      string
	format     string
	characters int64
}

func (s speech) order() order {
	return order{"text": prose(int(s.characters)), "voice": "leah", "format": s.format}
}

// attempt is one request of a load and what came of it.
type attempt struct {
	speech     speech
	account    string
	generation string // names its reservation in the log; empty when no head of an answer came
	status     int    // 0 when no head of an answer came
	body       []byte
	err        error // where the answer was cut
}

// clean tells whether the client has to believe that it got everything.
func (a attempt) clean() bool { return a.status == http.StatusOK && a.err == nil }

// try makes one request and takes the whole answer.
func (c customer) try(client *http.Client, s speech) attempt {
	a := attempt{speech: s, account: c.id}
	response, err := client.Do(c.request(http.MethodPost, s.route, s.order().encode()))
	if err != nil {
		a.err = err
		return a
	}
	defer response.Body.Close()
	a.status, a.generation = response.StatusCode, response.Header.Get("X-Generation-Id")
	a.body, a.err = io.ReadAll(response.Body)
	return a
}

// load is clients at work: each makes one request after the other.
type load struct {
	stopped chan struct{}
	stopNow sync.Once
	running sync.WaitGroup

	mu       sync.Mutex
	attempts []attempt
}

// everyKind is what the clients of each account ask for.
func everyKind() []speech {
	return []speech{
		{bytesRoute, "mp3", 1500},
		{bytesRoute, "pcm_s16le", 800},
		{detailedRoute, "wav", 150},
	}
}

// startLoad gives each customer one client of every kind.
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
			rest = pause // a server that is down is not asked all the time
		}
		select {
		case <-l.stopped:
			return
		case <-time.After(rest):
		}
	}
}

// clean counts the requests that ended cleanly so far.
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

// stop returns all that happened, when every client has its last answer.
func (l *load) stop() []attempt {
	l.stopNow.Do(func() { close(l.stopped) })
	l.running.Wait()
	return l.attempts
}

// complete is the audio of each kind, made in peace. The engine and the codecs make the same of the same text.
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

// sound is the audio of a clean attempt.
func (a attempt) sound(t *testing.T) []byte {
	t.Helper()
	if a.speech.route == bytesRoute {
		return a.body
	}
	var r recording
	reply{body: a.body}.decode(t, &r)
	return r.sound(t)
}

// requireWhole checks that nobody who was told that all is well got less than all.
func (all complete) requireWhole(t *testing.T, attempts []attempt) {
	t.Helper()
	for _, a := range attempts {
		if a.clean() {
			sound := a.sound(t)
			require.True(t, bytes.Equal(all[a.speech], sound), "%v ended cleanly with %d of %d bytes", a.speech, len(sound), len(all[a.speech]))
		}
	}
}

// requireFair checks what was counted against what the clients saw: all of a request that ended cleanly, nothing of
// one that was refused, at most all of one that was cut, and for each account no more than all of that.
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
