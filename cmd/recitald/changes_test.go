package main_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

const eventsRoute = "/v1/account/events"

// listener reads an account's stream of changes.
type listener struct {
	t     *testing.T
	body  io.ReadCloser
	lines *bufio.Scanner
	last  string // the id of the last event
}

// listen opens the stream after the event with an id, or from now on if the id is "".
func (c customer) listen(t *testing.T, after string) *listener {
	t.Helper()
	request := c.request(http.MethodGet, eventsRoute, nil, "Last-Event-ID", after)
	response, err := http.DefaultClient.Do(request.WithContext(t.Context()))
	require.NoError(t, err)
	t.Cleanup(func() { response.Body.Close() })
	require.Equal(t, 200, response.StatusCode)
	return &listener{t: t, body: response.Body, lines: bufio.NewScanner(response.Body), last: after}
}

// next returns the next part that has changed, "" if the stream has ended.
func (l *listener) next() (part string) {
	for l.lines.Scan() {
		line := l.lines.Text()
		if id, found := strings.CutPrefix(line, "id: "); found {
			l.last = id
		}
		if event, found := strings.CutPrefix(line, "event: "); found {
			part = event
		}
		if line == "" && part != "" {
			return part
		}
	}
	return ""
}

// await reads until a part has changed.
func (l *listener) await(part string) {
	l.t.Helper()
	var told []string
	for len(told) == 0 || told[len(told)-1] != part {
		next := l.next()
		require.NotEmpty(l.t, next, "the stream has ended after %v, without %s", told, part)
		told = append(told, next)
	}
}

// Each change is sent once reads show it, until the key is revoked.
func TestChangesAreSentWhenReadsShowThem(t *testing.T) {
	t.Parallel()
	c := share(t).openAccount("indie")
	l := c.listen(t, "")
	require.Equal(t, "reset", l.next())

	requireOK(t, c.post(t, bytesRoute, order{"text": prose(30), "voice": "leah", "debug": true}))
	l.await("clips")
	require.Len(t, c.clips(t).Clips, 1)

	other := c.newKey(t, "")
	l.await("keys")
	require.Equal(t, 200, c.revokeKey(t).status)
	for l.next() != "" { // the stream ends with its key
	}
	require.Equal(t, 401, do(t, c.request(http.MethodGet, eventsRoute, nil)).status)
	other.listen(t, l.last).await("keys")
}

// Two instances send the same changes, and one resumes the stream of the other, which was killed.
func TestAStreamResumesOnAnotherInstance(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	first, second := outsideServices(t).launchTwo(t)
	c := first.openAccount("indie")
	here, there := c.listen(t, ""), c.at(second).listen(t, "")

	c.newKey(t, "")
	here.await("keys")
	there.await("keys")
	require.Equal(t, here.last, there.last)

	first.kill()
	require.Empty(t, here.next())
	_, err := c.at(second).speak(40)
	require.NoError(t, err)
	resumed := c.at(second).listen(t, here.last)
	require.Equal(t, "usage", resumed.next())
	require.EqualValues(t, 40, c.at(second).usage(t, "X-Recital-Min-Position", resumed.last))
	there.await("usage")
}
