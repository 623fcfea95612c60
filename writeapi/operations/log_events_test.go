package operations_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/memlog"
)

// list returns the streams and revisions of a page, and the start of the next page.
func (d *logDesk) list(query url.Values) (events []string, next string) {
	d.Helper()
	response := d.get("au", query.Encode(), "/events")
	require.Equal(d, http.StatusOK, response.StatusCode, query.Encode())
	body, err := io.ReadAll(response.Body)
	require.NoError(d, err)
	var page struct {
		Events []struct {
			Stream   string
			Revision uint64
			Data     json.RawMessage
		}
		Next *string
	}
	require.NoError(d, json.Unmarshal(body, &page))
	events = []string{}
	for _, e := range page.Events {
		events = append(events, fmt.Sprint(e.Stream, " ", e.Revision, " ", string(e.Data)))
	}
	if page.Next != nil {
		next = *page.Next
	}
	return events, next
}

// walk returns all pages together.
func (d *logDesk) walk(query url.Values) (all []string) {
	d.Helper()
	for pages := 0; ; pages++ {
		require.Less(d, pages, 100)
		events, next := d.list(query)
		all = append(all, events...)
		if next == "" {
			return all
		}
		query.Set("before", next)
	}
}

func TestEventsAreListedFromTheNewestOn(t *testing.T) {
	d := openLogDesk(t)
	var want []string
	add := func(stream string, revision int) {
		data := fmt.Sprintf(`{"n":%d}`, len(want))
		d.append(stream, eventlog.Revision(revision)-1, "kind-"+stream, data)
		want = append([]string{fmt.Sprint(stream, " ", revision, " ", data)}, want...)
	}
	for i := range 7 { // parts of the log between heads, some of them empty
		add("a", 2*i)
		add("a", 2*i+1)
		add("b-1", i)
		add(audit.HeadStream, 2*i)
		add(audit.HeadStream, 2*i+1)
	}
	add("a", 14)
	of := func(prefix string) (found []string) {
		for _, one := range want {
			if strings.HasPrefix(one, prefix) {
				found = append(found, one)
			}
		}
		return found
	}
	for _, limit := range []string{"1", "2", "3", "200"} {
		require.Equal(t, want, d.walk(url.Values{"limit": {limit}}), limit)
		require.Equal(t, of("a "), d.walk(url.Values{"limit": {limit}, "stream": {"a"}}), limit)
		require.Equal(t, of("b-1 "), d.walk(url.Values{"limit": {limit}, "stream": {"b-*"}}), limit)
		require.Equal(t, of("a "), d.walk(url.Values{"limit": {limit}, "type": {"kind-a"}}), limit)
	}
	one, next := d.list(url.Values{"stream": {"a"}, "revision": {"3"}})
	require.Equal(t, []string{`a 3 {"n":6}`}, one)
	require.Empty(t, next)
	none, _ := d.list(url.Values{"stream": {"a"}, "revision": {"15"}})
	require.Empty(t, none)
	for _, wrong := range []string{"revision=1", "revision=1&stream=a*", "before=x", "limit=201", "limit=0"} {
		require.Equal(t, http.StatusUnprocessableEntity, d.get("au", wrong, "/events").StatusCode, wrong)
	}
	require.Equal(t, http.StatusUnauthorized, d.get("", "", "/events").StatusCode)
}

// A page ends before it is too large, and events that are not JSON are shown too.
func TestAPageOfLargeEventsIsShort(t *testing.T) {
	d := openLogDesk(t)
	for i := range 5 {
		d.append("large", eventlog.Revision(i-1), "large", `"`+strings.Repeat("x", 400<<10)+`"`)
	}
	events, next := d.list(url.Values{})
	require.Len(t, events, 3)
	require.NotEmpty(t, next)
	require.Len(t, d.walk(url.Values{}), 5)
	require.Len(t, d.walk(url.Values{"stream": {"large"}}), 5)
	d.append("broken", eventlog.NoStream, "broken", `{`)
	events, _ = d.list(url.Values{"stream": {"broken"}})
	require.Equal(t, []string{`broken 0 "ew=="`}, events)
}

// growingLog reads events of 1 MiB, and measures the memory while it does.
type growingLog struct {
	eventlog.Log
	most uint64
}

func (l *growingLog) ReadStream(ctx context.Context, stream string, from uint64) iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		for event, err := range l.Log.ReadStream(ctx, stream, from) {
			event.Data = []byte(`"` + strings.Repeat("x", 1<<20-2) + `"`)
			if event.Revision%20 == 0 {
				var memory runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&memory)
				l.most = max(l.most, memory.HeapAlloc)
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

func TestAPageOfLargeEventsTakesLittleMemory(t *testing.T) {
	log := &growingLog{Log: memlog.New()}
	d := openLogDeskOn(t, log)
	for i := range 200 {
		d.append("large", eventlog.Revision(i-1), "large", "{}")
	}
	events, next := d.list(url.Values{"limit": {"200"}, "stream": {"large"}})
	require.Len(t, events, 1)
	require.True(t, strings.HasPrefix(events[0], "large 199 "))
	require.NotEmpty(t, next)
	require.Less(t, log.most, uint64(64<<20))
}

func TestTheKindsOfEvents(t *testing.T) {
	d := openLogDesk(t)
	response := d.get("op", "", "/kinds")
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.JSONEq(t, `{"types":["account-opened"],"streams":["account-"]}`, string(body))
}
