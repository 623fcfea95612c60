package operations_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/access/operators"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/memlog"
	"github.com/recital-tts/recital/internal/events/logcopy"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/writeapi/operations"
)

// logDesk serves the route on a real server, over a real log.
type logDesk struct {
	*testing.T
	log      eventlog.Log
	identity eventlog.Identity
	url      string
}

func openLogDesk(t *testing.T) *logDesk { return openLogDeskOn(t, memlog.New()) }

func openLogDeskOn(t *testing.T, log eventlog.Log) *logDesk {
	d := &logDesk{T: t, log: log, identity: eventlog.Identity{LogID: uuid.New(), Epoch: 2}}
	api := operations.Log{Log: log, Identity: d.identity, Types: []string{"account-opened"}, Streams: []string{"account-"}}
	d.url = webtest.Serve(t, web.Config{Routes: api.AdminRoutes(),
		Tokens: []operators.Token{operators.Single("operator", "op"), operators.Single("auditor", "au")}})
	return d
}

func (d *logDesk) append(stream string, expected eventlog.Revision, kind, data string) eventlog.Position {
	d.Helper()
	done, err := d.log.Append(d.Context(), stream, expected, []eventlog.Proposed{
		{ID: uuid.New(), Type: kind, Data: []byte(data), Metadata: []byte(`{"v":1}`)},
	})
	require.NoError(d, err)
	return done.Position
}

func (d *logDesk) get(token, query string, below ...string) *http.Response {
	d.Helper()
	address := d.url + "/admin/log" + strings.Join(below, "") + "?" + query
	request, err := http.NewRequestWithContext(d.Context(), http.MethodGet, address, nil)
	require.NoError(d, err)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	require.NoError(d, err)
	d.Cleanup(func() { response.Body.Close() })
	return response
}

func (d *logDesk) reader(query string) *logcopy.Reader {
	d.Helper()
	response := d.get("au", query)
	require.Equal(d, http.StatusOK, response.StatusCode)
	require.Equal(d, logcopy.ContentType, response.Header.Get("Content-Type"))
	reader, err := logcopy.NewReader(response.Body)
	require.NoError(d, err)
	return reader
}

// events returns the streams and revisions in the reply to a request for a range.
func (d *logDesk) events(query url.Values) []string {
	d.Helper()
	got := []string{}
	for event, err := range d.reader(query.Encode()).Events() {
		require.NoError(d, err)
		got = append(got, fmt.Sprint(event.Stream, " ", event.Revision))
	}
	return got
}

func TestTheLogIsReadInPartsAndWhole(t *testing.T) {
	d := openLogDesk(t)
	d.append("account-7", eventlog.NoStream, "account-opened", `{}`)
	second := d.append("clip-1", eventlog.NoStream, "clip-saved", `{"account":"7"}`)
	third := d.append("account-7", 0, "account-closed", `{}`)
	d.append("account-75", eventlog.NoStream, "account-opened", `{}`)
	last := d.append("account-75", 0, "account-closed", `{"a": 1.0}`)

	whole := d.reader("")
	require.Equal(t, logcopy.Header{Identity: d.identity, Until: last}, whole.Header())
	var final eventlog.Recorded
	for event, err := range whole.Events() {
		require.NoError(t, err)
		final = event
	}
	require.Equal(t, `{"a": 1.0}`, string(final.Data))
	require.Equal(t, last, final.Position)

	for _, c := range []struct {
		query url.Values
		want  []string
	}{
		{url.Values{}, []string{"account-7 0", "clip-1 0", "account-7 1", "account-75 0", "account-75 1"}},
		{url.Values{"after": {second.String()}}, []string{"account-7 1", "account-75 0", "account-75 1"}},
		{url.Values{"after": {second.String()}, "until": {third.String()}}, []string{"account-7 1"}},
		{url.Values{"after": {last.String()}}, []string{}},
		{url.Values{"until": {"99999999999/99999999999"}, "type": {"clip-saved"}}, []string{"clip-1 0"}},
		{url.Values{"stream": {"account-7"}}, []string{"account-7 0", "account-7 1"}},
		{url.Values{"stream": {"account-7"}, "after": {second.String()}}, []string{"account-7 1"}},
		{url.Values{"stream": {"account-7"}, "until": {second.String()}}, []string{"account-7 0"}},
		{url.Values{"stream": {"account-7*"}, "type": {"account-closed"}}, []string{"account-7 1", "account-75 1"}},
		{url.Values{"stream": {"nothing"}}, []string{}},
		{url.Values{"account": {"7"}}, []string{"account-7 0", "clip-1 0", "account-7 1", "account-75 0", "account-75 1"}},
		{url.Values{"account": {"75"}}, []string{"account-75 0", "account-75 1"}},
	} {
		require.Equal(t, c.want, d.events(c.query), c.query.Encode())
	}
}

func TestWhatIsWrittenLaterArrivesAtOnce(t *testing.T) {
	for _, query := range []string{"follow=true", "follow=true&stream=a", "follow=true&account=7"} {
		d := openLogDesk(t)
		d.append("a", eventlog.NoStream, "told", `{"of":7}`)
		reader := d.reader(query)
		for revision := range uint64(5) {
			got, err := reader.Next() // waits only for the event
			require.NoError(t, err)
			require.Equal(t, "a", got.Stream)
			require.Equal(t, revision, got.Revision)
			d.append("b", eventlog.Revision(revision)-1, "other", `{}`)
			if query == "follow=true" {
				got, err = reader.Next()
				require.NoError(t, err)
				require.Equal(t, "b", got.Stream)
			}
			d.append("a", eventlog.Revision(revision), "told", `{"of":7}`)
		}
	}
}

func TestWhoMayReadTheLog(t *testing.T) {
	d := openLogDesk(t)
	for token, want := range map[string]int{"": 401, "guess": 401, "au": 200, "op": 200} {
		require.Equal(t, want, d.get(token, "").StatusCode, token)
	}
	for _, query := range []string{"after=1", "until=x/1", "after=99999999999999999999/1", "follow=perhaps"} {
		require.Equal(t, http.StatusUnprocessableEntity, d.get("op", query).StatusCode, query)
	}
}

// Copies are expensive, so their number is limited; each one that ends makes room for another.
func TestTooManyCopiesAtOnce(t *testing.T) {
	d := openLogDesk(t)
	var open []*http.Response
	for {
		response := d.get("op", "follow=true")
		if response.StatusCode != http.StatusOK {
			require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
			require.NotEmpty(t, response.Header.Get("Retry-After"))
			break
		}
		open = append(open, response)
		require.LessOrEqual(t, len(open), 8)
	}
	require.Len(t, open, 8)
	require.NoError(t, open[0].Body.Close())
	require.Eventually(t, func() bool { return d.get("op", "").StatusCode == http.StatusOK }, time.Minute,
		10*time.Millisecond)
}
