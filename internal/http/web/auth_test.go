package web_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/operators"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
)

var discard = slog.New(slog.NewTextHandler(io.Discard, nil))

func TestAccess(t *testing.T) {
	type in struct {
		Text string `body:"text" required:"true"`
	}
	who := func(c *web.Call, _ none) (web.Reply, error) { return web.JSON(c.Principal.Account), nil }
	s := start(t, web.Config{Routes: []web.Route{
		web.Get("/public", who, web.Public()), web.Get("/optional", who, web.Optional()), web.Get("/account", who),
		web.Post("/speech", func(*web.Call, in) (web.Reply, error) { return web.JSON(nil), nil }),
	}})
	for name, c := range map[string]struct {
		path, key string
		status    int
		body      string
	}{
		"public without a key":         {"/public", "", 200, `""`},
		"public with a wrong key":      {"/public", "wrong", 200, `""`},
		"optional without a key":       {"/optional", "", 200, `""`},
		"optional with a key":          {"/optional", goodKey, 200, `"acc-1"`},
		"optional with a wrong key":    {"/optional", "wrong", 401, ""},
		"authenticated":                {"/account", goodKey, 200, `"acc-1"`},
		"authenticated without a key":  {"/account", "", 401, ""},
		"authenticated with wrong key": {"/account", "wrong", 401, ""},
		"while the log is down":        {"/account", "key-while-down", 503, ""},
		"a key in the query":           {"/account?x-api-key=" + goodKey + "&api_key=" + goodKey, "", 401, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.ask("GET", c.path, "", "x-api-key", c.key)
			require.Equal(t, c.status, a.StatusCode)
			if c.body != "" {
				require.Equal(t, c.body, a.body)
			}
		})
	}
	require.Equal(t, 401, s.ask("POST", "/speech", `{`).StatusCode, "inputs are not checked without a valid key")
	require.Equal(t, 422, s.ask("POST", "/speech", `{`, "x-api-key", goodKey).StatusCode)
	require.NotContains(t, s.logs.String(), goodKey)
	require.Contains(t, s.logs.String(), `"account":"acc-1"`)
}

// A proxy may read the first of two keys where this server reads the last.
func TestTwoDifferentCredentialsAreRefused(t *testing.T) {
	s := start(t, web.Config{
		Tokens: []operators.Token{operators.Single("operator", "op-token")},
		Routes: []web.Route{
			web.Get("/account", ok), web.Get("/admin", ok, web.Role("operator")), web.Get("/public", ok, web.Public()),
		},
	})
	for name, c := range map[string]struct {
		path, header, first, second string
		status                      int
	}{
		"the right key first":   {"/account", "x-api-key", goodKey, "other", 400},
		"the right key last":    {"/account", "X-API-Key", "other", goodKey, 400},
		"beside an empty one":   {"/account", "x-api-key", "", goodKey, 400},
		"the same twice":        {"/account", "x-api-key", goodKey, goodKey, 200},
		"two tokens":            {"/admin", "Authorization", "Bearer op-token", "Bearer other", 400},
		"the same token twice":  {"/admin", "authorization", "Bearer op-token", "Bearer op-token", 200},
		"where it is not used":  {"/public", "x-api-key", "one", "other", 200},
		"two origins":           {"/public", "Origin", "https://a.example", "https://b.example", 400},
		"the same origin twice": {"/public", "Origin", "https://a.example", "https://a.example", 200},
		"names of unequal case": {"/account", "x-Api-kEy: other\r\nx-api-key", goodKey, goodKey, 400},
	} {
		t.Run(name, func(t *testing.T) {
			response, body := s.raw(t, fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\n%s: %s\r\n%s: %s\r\n\r\n", c.path, c.header,
				c.first, c.header, c.second))
			require.Equal(t, c.status, response.StatusCode)
			if c.status == 400 {
				name, _, _ := strings.Cut(strings.ToLower(c.header), ":")
				require.JSONEq(t, `{"error":"The header `+name+` was sent twice, with different values"}`, body)
			}
		})
	}
}

func TestAdminTokens(t *testing.T) {
	role := func(c *web.Call, _ none) (web.Reply, error) { return web.JSON(c.Operator + ", " + c.Role), nil }
	s := start(t, web.Config{
		Tokens: []operators.Token{
			operators.Single("operator", "op-token"), operators.Single("auditor", "au-token"), operators.Single("operator", ""),
			{Name: "ada", Role: "operator", Hash: sha256.Sum256([]byte("adas-token"))},
		},
		Routes: []web.Route{
			web.Post("/rebuild", role, web.Role("operator")), web.Get("/audit", role, web.Role("operator", "auditor")),
		},
	})
	for name, c := range map[string]struct {
		method, path, authorization string
		status                      int
		body                        string
	}{
		"operator rebuilds": {"POST", "/rebuild", "Bearer op-token", 200, `"operator, operator"`},
		"so does another":   {"POST", "/rebuild", "Bearer adas-token", 200, `"ada, operator"`},
		"auditor does not":  {"POST", "/rebuild", "Bearer au-token", 403, ""},
		"auditor audits":    {"GET", "/audit", "bearer au-token", 200, `"auditor, auditor"`},
		"a wrong token":     {"GET", "/audit", "Bearer op-tokem", 401, ""},
		"no token":          {"GET", "/audit", "", 401, ""},
		"an empty token":    {"GET", "/audit", "Bearer ", 401, ""},
		"another scheme":    {"GET", "/audit", "Basic op-token", 401, ""},
		"the token alone":   {"GET", "/audit", "op-token", 401, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.ask(c.method, c.path, "", "authorization", c.authorization)
			require.Equal(t, c.status, a.StatusCode)
			if c.status == 401 {
				require.Equal(t, "Bearer", a.Header.Get("WWW-Authenticate"))
			}
			if c.body != "" {
				require.Equal(t, c.body, a.body)
			}
		})
	}
	require.Equal(t, 401, s.ask("POST", "/rebuild", "", "x-api-key", goodKey).StatusCode)
	require.NotContains(t, s.logs.String(), "op-token")
	require.NotContains(t, s.logs.String(), "adas-token")
}

var stopped = readmodel.Model{Name: "stopped", Version: 1}

// positions has reached "7", and never reaches a later position.
type positions struct {
	asked atomic.Int64
	head  string
}

func (p *positions) Wait(ctx context.Context, position string, readModels []readmodel.Model) error {
	p.asked.Add(1)
	switch position {
	case "7":
		if len(readModels) > 0 && readModels[0] == stopped {
			return web.ErrStandsStill
		}
		return nil
	case "8":
		<-ctx.Done()
		return ctx.Err()
	}
	return web.ErrBadPosition
}

func (p *positions) Current(ctx context.Context, readModels []readmodel.Model) error {
	return p.Wait(ctx, p.head, readModels)
}

func TestReadsWaitForAPosition(t *testing.T) {
	p := &positions{}
	s := start(t, web.Config{
		Positions: p, Limits: web.Limits{PositionWait: 30 * time.Millisecond},
		Routes: []web.Route{
			web.Get("/account", ok, web.Public()),
			web.Get("/stopped", ok, web.Public(), web.ReadModels(stopped)),
			web.Post("/rename", func(c *web.Call, _ none) (web.Reply, error) {
				c.SetPosition("7")
				c.SetStale()
				return web.JSON(nil), nil
			}, web.Public(), web.ReadModels(readmodel.Account)),
		},
	})
	require.Equal(t, 200, s.ask("GET", "/account", "", "x-recital-min-position", "7").StatusCode)
	late := s.ask("GET", "/account", "", "x-recital-min-position", "8")
	require.Equal(t, 504, late.StatusCode)
	require.Equal(t, "1", late.Header.Get("Retry-After"))
	require.Equal(t, 400, s.ask("GET", "/account", "", "x-recital-min-position", "banana").StatusCode)
	require.Equal(t, 504, s.ask("GET", "/stopped", "", "x-recital-min-position", "7").StatusCode)
	require.Equal(t, int64(4), p.asked.Load())
	wrote := s.ask("POST", "/rename", "")
	require.Equal(t, "7", wrote.Header.Get("x-recital-position"))
	require.Equal(t, "true", wrote.Header.Get("x-recital-stale"))
}

func TestAnItemThatIsNotVisibleYetIsNotMissing(t *testing.T) {
	view, stopped := readmodel.ClipsView.View, readmodel.View{Model: stopped, Name: "stopped"}
	for name, c := range map[string]struct {
		view   readmodel.View
		head   string
		shown  int64 // the read that shows the item
		status int
		looks  int64
	}{
		"visible immediately":        {view, "7", 1, 200, 1},
		"visible at the head":        {view, "7", 2, 200, 2},
		"missing at the head":        {view, "7", 99, 404, 2},
		"the read model lags":        {view, "8", 99, 503, 1},
		"the read model has stopped": {stopped, "7", 99, 503, 1},
		"the head is unknown":        {view, "", 99, 503, 1},
		"without a view":             {readmodel.View{}, "8", 99, 404, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var looks atomic.Int64
			option := web.Reads(c.view)
			if c.view.Name == "" {
				option = web.Public()
			}
			s := start(t, web.Config{
				Positions: &positions{head: c.head}, Limits: web.Limits{PositionWait: 30 * time.Millisecond},
				Routes: []web.Route{web.Get("/thing", func(*web.Call, none) (web.Reply, error) {
					if looks.Add(1) < c.shown {
						return web.Reply{}, domain.Refuse(domain.NotFound, "There is no such thing")
					}
					return web.JSON(nil), nil
				}, web.Public(), option)},
			})
			got := s.ask("GET", "/thing", "")
			require.Equal(t, c.status, got.StatusCode)
			require.Equal(t, c.looks, looks.Load())
			require.Equal(t, c.status == 503, got.Header.Get("Retry-After") == "1")
		})
	}
}
