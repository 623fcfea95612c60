package operations_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/operators"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/writeapi/operations"
)

var _ operations.Generations = (*feed.Projector)(nil)

// generations is a fake projector: it records its calls, and returns prepared answers. The projector itself is tested
// in its package, and the path from recitalctl to the projector in recitalctl's.
type generations struct {
	asked    []string
	overview feed.Overview
	parked   []feed.Parked
	err      error
}

func (g *generations) note(format string, args ...any) {
	g.asked = append(g.asked, fmt.Sprintf(format, args...))
}

func (g *generations) Overview(context.Context) (feed.Overview, error) { return g.overview, g.err }

func (g *generations) Rebuild(_ context.Context, names []string, promote bool) ([]feed.GenerationID, error) {
	g.note("rebuild %q promote=%t", names, promote)
	return []feed.GenerationID{{Name: "account", Version: 1, Number: 2}}, g.err
}

func (g *generations) Promote(_ context.Context, ids []feed.GenerationID) ([]feed.GenerationID, error) {
	g.note("promote %v", ids)
	return ids, g.err
}

func (g *generations) Rollback(_ context.Context, id feed.GenerationID) (feed.GenerationID, error) {
	g.note("rollback %v", id)
	return feed.GenerationID{Name: id.Name, Version: 1, Number: 1}, g.err
}

func (g *generations) Retire(_ context.Context, id feed.GenerationID) error {
	g.note("retire %v", id)
	return g.err
}

func (g *generations) Parked(_ context.Context, after eventlog.Position, limit int) ([]feed.Parked, error) {
	g.note("parked after %s limit %d", after, limit)
	return g.parked, g.err
}

func (g *generations) RetryParked(_ context.Context, id feed.GenerationID, event uuid.UUID) error {
	g.note("retry %v %s", id, event)
	return g.err
}

// desk serves the routes on a real server.
type desk struct {
	t           *testing.T
	url         string
	generations *generations
}

func openDesk(t *testing.T) *desk {
	d := &desk{t: t, generations: &generations{}}
	api := operations.Projections{
		Generations: d.generations,
		Instances:   func(context.Context) ([]string, error) { return []string{"one", "two"}, nil },
	}
	d.url = webtest.Serve(t, web.Config{Routes: api.AdminRoutes(),
		Tokens: []operators.Token{operators.Single("operator", "op"), operators.Single("auditor", "au")}})
	return d
}

// ask sends a body with POST, or requests with GET if there is none.
func (d *desk) ask(token, path, body string) (status int, answer string) {
	d.t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	response, answer := webtest.Send(d.t, method, d.url+"/admin/projections"+path, body, "Authorization", "Bearer "+token)
	require.True(d.t, json.Valid([]byte(answer)), answer)
	return response.StatusCode, answer
}

const event = "0190a5f0-1111-7222-8333-444455556666"

// changes has one request for each route that makes a change.
var changes = map[string]string{
	"/rebuild":      `{"projections":["account"]}`,
	"/promote":      `{"generations":[{"name":"account"}]}`,
	"/rollback":     `{"name":"account"}`,
	"/retire":       `{"name":"account","generation":2}`,
	"/parked/retry": `{"name":"account","event_id":"` + event + `"}`,
}

func TestTheListOfGenerations(t *testing.T) {
	d := openDesk(t)
	at := time.UnixMilli(1_700_000_000_250)
	position := func(commit uint64) eventlog.Position { return eventlog.Position{Commit: commit, Prepare: commit} }
	d.generations.overview = feed.Overview{Head: position(200), At: at, Generations: []feed.Generation{
		{Name: "account", Version: 1, Number: 1, Live: true, State: feed.GenerationCurrent, Position: position(200),
			Events: 7,
			Rows:   5, Bytes: 8192, MovedAt: at, Created: at},
		{Name: "account", Version: 1, Number: 2, Promote: true, State: feed.GenerationStopped, Reason: "it fails",
			Instance: "one",
			Position: position(50),
			Lag:      1500 * time.Millisecond, Parked: 1, Created: at},
	}}
	status, body := d.ask("au", "", "")
	require.Equal(t, http.StatusOK, status, body)
	require.JSONEq(t, `{"head":"200/200","at":1700000000.25,"instances":["one","two"],"projections":[
		{"name":"account","version":1,"generation":1,"live":true,"promote":false,"state":"current","instance":"",
		"position":"200/200","progress":1,
		 "events":7,"lag":0,"rows":5,"size":8192,"parked":0,"moved_at":1700000000.25,"created_at":1700000000.25},
		{"name":"account","version":1,"generation":2,"live":false,"promote":true,"state":"stopped","reason":"it fails",
		"instance":"one",
		 "position":"50/50","progress":0.25,"events":0,"lag":1.5,"rows":0,"size":0,"parked":1,"moved_at":null,
		 "created_at":1700000000.25}]}`, body)
}

func TestAnEmptyLogIsReadToItsEnd(t *testing.T) {
	d := openDesk(t)
	d.generations.overview = feed.Overview{Generations: []feed.Generation{{Name: "account"}}}
	_, body := d.ask("op", "", "")
	require.Contains(t, body, `"progress":1`)

	d.generations.overview = feed.Overview{}
	_, body = d.ask("op", "", "")
	require.JSONEq(t, `{"projections":[],"head":"0/0","at":null,"instances":["one","two"]}`, body)
}

func TestWhatTheProjectorIsAsked(t *testing.T) {
	for _, c := range []struct{ path, body, asked, answer string }{
		{"/rebuild", `{"projections":["usage","account","usage"]}`, `rebuild ["account" "usage"] promote=false`,
			`{"generations":[{"name":"account","version":1,"generation":2}]}`},
		{"/rebuild", `{"all":true,"promote":true}`, `rebuild [] promote=true`,
			`{"generations":[{"name":"account","version":1,"generation":2}]}`},
		{"/promote", `{"generations":[{"name":"account"},{"name":"usage","version":2,"generation":4}]}`,
			`promote [{account 0 0} {usage 2 4}]`,
			`{"generations":[{"name":"account","version":0,"generation":0},{"name":"usage","version":2,"generation":4}]}`},
		{"/rollback", `{"name":"account","version":1}`, `rollback {account 1 0}`,
			`{"generations":[{"name":"account","version":1,"generation":1}]}`},
		{"/retire", `{"name":"account","generation":3}`, `retire {account 0 3}`, `{"success":true}`},
		{"/parked/retry", `{"name":"account","version":1,"generation":2,"event_id":"` + event + `"}`,
			`retry {account 1 2} ` + event, `{"applied":0}`},
	} {
		t.Run(c.path, func(t *testing.T) {
			d := openDesk(t)
			status, answer := d.ask("op", c.path, c.body)
			require.Equal(t, http.StatusOK, status, answer)
			require.Equal(t, []string{c.asked}, d.generations.asked)
			require.JSONEq(t, c.answer, answer)
		})
	}
}

func TestThePagesOfParkedEvents(t *testing.T) {
	d := openDesk(t)
	id := uuid.MustParse(event)
	d.generations.parked = []feed.Parked{{
		GenerationID: feed.GenerationID{Name: "account", Version: 1, Number: 2}, Event: id, Type: "account-opened",
		Stream:   "account-1",
		Revision: 4, Position: eventlog.Position{Commit: 9, Prepare: 8}, Reason: "it fails",
		At: time.Unix(1_700_000_000, 0),
	}}
	const one = `"parked":[{"name":"account","version":1,"generation":2,"event_id":"` + event + `","type":"account-opened",
		"stream":"account-1","revision":4,"position":"9/8","state":"blocking","reason":"it fails","parked_at":1700000000}]`

	status, body := d.ask("au", "/parked", "")
	require.Equal(t, http.StatusOK, status, body)
	require.JSONEq(t, `{`+one+`,"next":null}`, body)

	// given a full page, then the next page begins after it
	_, body = d.ask("op", "/parked?limit=1", "")
	require.JSONEq(t, `{`+one+`,"next":"9/8"}`, body)
	d.generations.parked = nil
	_, body = d.ask("op", "/parked?limit=1&after=9%2F8", "")
	require.JSONEq(t, `{"parked":[],"next":null}`, body)
	require.Equal(t, []string{"parked after 0/0 limit 100", "parked after 0/0 limit 1", "parked after 9/8 limit 1"},
		d.generations.asked)
}

func TestWhoMayDoWhat(t *testing.T) {
	d := openDesk(t)
	for _, path := range []string{"", "/parked"} {
		for token, want := range map[string]int{"": 401, "guess": 401, "au": 200, "op": 200} {
			status, body := d.ask(token, path, "")
			require.Equal(t, want, status, "%s %q: %s", path, token, body)
		}
	}
	d.generations.asked = nil
	for path, body := range changes {
		for token, want := range map[string]int{"": 401, "guess": 401, "au": 403} {
			status, answer := d.ask(token, path, body)
			require.Equal(t, want, status, "%s %q: %s", path, token, answer)
		}
	}
	require.Empty(t, d.generations.asked)
}

func TestRefusalsAndOutages(t *testing.T) {
	_, noPostgres := pgconn.Connect(t.Context(), "host="+t.TempDir()) // no server listens there
	require.Error(t, noPostgres)
	for path, body := range changes {
		for name, c := range map[string]struct {
			err    error
			status int
			says   string
		}{
			"unknown":        {fmt.Errorf("asking: %w", feed.ErrNoGeneration), 404, feed.ErrNoGeneration.Error()},
			"in the way":     {domain.Refuse(domain.Conflict, "it is still behind"), 409, "it is still behind"},
			"another's":      {domain.Refuse(domain.Invalid, "ask another release"), 400, "ask another release"},
			"no event log":   {fmt.Errorf("asking: %w", eventlog.ErrUnavailable), 503, "The event log does not answer"},
			"no Postgres":    {fmt.Errorf("asking: %w", noPostgres), 503, "The read models do not answer"},
			"anything other": {errors.New("password=secret"), 500, "Internal Server Error"},
		} {
			t.Run(path+" "+name, func(t *testing.T) {
				d := openDesk(t)
				d.generations.err = c.err
				status, answer := d.ask("op", path, body)
				require.Equal(t, c.status, status, answer)
				require.Contains(t, answer, c.says)
				require.NotContains(t, answer, "secret")
			})
		}
	}
}

func TestReadsWithoutPostgres(t *testing.T) {
	d := openDesk(t)
	_, d.generations.err = pgconn.Connect(t.Context(), "host="+t.TempDir())
	for _, path := range []string{"", "/parked"} {
		status, answer := d.ask("au", path, "")
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.JSONEq(t, `{"error":"The read models do not answer"}`, answer)
	}
}

func TestInputsThatAreWrong(t *testing.T) {
	d := openDesk(t)
	long := strings.Repeat("a", 64)
	for _, c := range []struct{ path, body, place string }{
		{"/rebuild", `{}`, `["body","projections"]`},
		{"/rebuild", `{"all":true,"projections":["account"]}`, `["body","projections"]`},
		{"/rebuild", `{"projections":"account"}`, `["body","projections"]`},
		{"/rebuild", `{"projections":[1]}`, `["body","projections",0]`},
		{"/rebuild", `{"all":"some"}`, `["body","all"]`},
		{"/promote", `{}`, `["body","generations"]`},
		{"/promote", `{"generations":[]}`, `["body","generations"]`},
		{"/promote", `{"generations":{"name":"account"}}`, `["body","generations"]`},
		{"/promote", `[1]`, `["body","generations"]`},
		{"/promote", `{"generations"`, `["body","generations"]`},
		{"/promote", `{"generations":[` + strings.Repeat(`{"name":"a"},`, 100) + `{"name":"a"}]}`, `["body","generations"]`},
		{"/promote", `{"generations":["account"]}`, `["body","generations",0]`},
		{"/promote", `{"generations":[null]}`, `["body","generations",0]`},
		{"/promote", `{"generations":[{"name":"account"},{"version":1}]}`, `["body","generations",1,"name"]`},
		{"/promote", `{"generations":[{"name":"account","generation":-1}]}`, `["body","generations",0,"generation"]`},
		{"/rollback", `{}`, `["body","name"]`},
		{"/rollback", `{"name":""}`, `["body","name"]`},
		{"/rollback", `{"name":"` + long + `"}`, `["body","name"]`},
		{"/rollback", `{"name":"account","version":2147483648}`, `["body","version"]`},
		{"/retire", `{"name":"account"}`, `["body","generation"]`},
		{"/retire", `{"name":"account","generation":0}`, `["body","generation"]`},
		{"/parked/retry", `{"name":"account"}`, `["body","event_id"]`},
		{"/parked/retry", `{"name":"account","event_id":"urn:uuid:` + event + `"}`, `["body","event_id"]`},
		{"/parked/retry", `{"name":"account","event_id":"1"}`, `["body","event_id"]`},
		{"/parked?limit=0", "", `["query","limit"]`},
		{"/parked?limit=501", "", `["query","limit"]`},
		{"/parked?after=9", "", `["query","after"]`},
		{"/parked?after=99999999999999999999/1", "", `["query","after"]`},
	} {
		t.Run(c.path+" "+c.body[:min(len(c.body), 60)], func(t *testing.T) {
			status, body := d.ask("op", c.path, c.body)
			require.Equal(t, http.StatusUnprocessableEntity, status, body)
			require.Contains(t, body, `"loc":`+c.place)
		})
	}
	require.Empty(t, d.generations.asked)
}
