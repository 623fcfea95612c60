package vercel_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/providers/hosting"
	"github.com/recital-tts/recital/internal/providers/hosting/vercel"
	"github.com/recital-tts/recital/internal/standins/hostingplatform"
	"github.com/recital-tts/recital/internal/standins/hostingplatform/platformtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ hosting.Platform = (*vercel.Platform)(nil)

const secret = "hosted-secret"

func open(t *testing.T, url string) *vercel.Platform {
	t.Helper()
	p := vercel.New(vercel.Config{ClientID: "oac_1", ClientSecret: secret, URL: url, Pause: time.Hour})
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func newStandin(t *testing.T) *platformtest.Platform {
	t.Helper()
	return platformtest.Open(t, hostingplatform.Config{ClientID: "oac_1", ClientSecret: secret})
}

func TestAVariableIsSetReplacedAndRemoved(t *testing.T) {
	for _, team := range []string{"", "team_1"} {
		there := newStandin(t)
		p, ctx := open(t, there.URL()), t.Context()
		config, code := there.Install(team, "a site")
		access, err := p.Exchange(ctx, code)
		require.NoError(t, err)
		require.Equal(t, team, access.Team)
		_, err = p.Exchange(ctx, code)
		require.ErrorIs(t, err, hosting.ErrCode)
		project, err := p.Project(ctx, access, "a site")
		require.NoError(t, err)

		_, err = p.Variable(ctx, access, project.ID, "KEY")
		require.ErrorIs(t, err, hosting.ErrNotFound)
		first, err := p.SetVariable(ctx, access, project.ID, hosting.NewVariable{Name: "KEY", Value: "v1", Comment: "c1"})
		require.NoError(t, err)
		second, err := p.SetVariable(ctx, access, project.ID, hosting.NewVariable{Name: "KEY", Value: "v2", Comment: "c2"})
		require.NoError(t, err)
		require.Equal(t, first, second)
		found, err := p.Variable(ctx, access, project.ID, "KEY")
		require.NoError(t, err)
		require.Equal(t, hosting.Variable{ID: first, Comment: "c2"}, found)
		require.Equal(t, "v2", there.Variables(config)["a site"][0].Value)
		require.NoError(t, p.RemoveVariable(ctx, access, project.ID, first))
		require.ErrorIs(t, p.RemoveVariable(ctx, access, project.ID, first), hosting.ErrNotFound)

		there.Uninstall(config)
		_, _, err = p.Projects(ctx, access)
		require.ErrorIs(t, err, hosting.ErrDenied)
	}
}

// A name is escaped, so that it is always one part of a path.
func TestNamesAreEscapedInPaths(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.EscapedPath()+"?"+r.URL.RawQuery)
		http.NotFound(w, r)
	}))
	defer server.Close()
	p := open(t, server.URL)
	for _, name := range []string{"..", ".", "", "../../v2/user", "a/b", "a?teamId=other", "a#b", "a%2e%2e", "ä b"} {
		asked = nil
		_, err := p.Project(t.Context(), hosting.Access{Token: "t", Team: "team_1"}, name)
		require.ErrorIs(t, err, hosting.ErrNotFound, name)
		for _, path := range asked {
			require.Regexp(t, `^/v9/projects/[^/?]+\?teamId=team_1$`, path)
			require.NotRegexp(t, `/\.{1,2}\?`, path)
		}
	}
}

func TestPagesOfProjectsAreBounded(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprintf(w, `{"projects":[{"id":"prj_%d","name":"p%d"}],"pagination":{"count":1,"next":%d,"prev":null}}`, asked,
			asked, asked)
	}))
	defer server.Close()
	listed, all, err := open(t, server.URL).Projects(t.Context(), hosting.Access{Token: "t"})
	require.NoError(t, err)
	require.False(t, all)
	require.Len(t, listed, 10)
	require.Equal(t, 10, asked)
}

// Answers of the platform are mapped to errors, which do not quote them.
func TestAnswersOfThePlatform(t *testing.T) {
	const quoted = "bob@example.com hosted-secret"
	for name, c := range map[string]struct {
		status int
		body   string
		want   error
	}{
		"no access":  {403, `{"error":{"code":"forbidden","message":"` + quoted + `"}}`, hosting.ErrDenied},
		"no token":   {401, `{"error":{"code":"` + quoted + `"}}`, hosting.ErrDenied},
		"no project": {404, `{"error":{"code":"not_found"}}`, hosting.ErrNotFound},
		"a conflict": {400, `{"error":{"code":"ENV_CONFLICT","message":"` + quoted + `"}}`,
			hosting.ErrRejected},
		"a failure":      {500, quoted, hosting.ErrUnavailable},
		"a redirect":     {307, "", hosting.ErrUnavailable},
		"no JSON":        {200, quoted, hosting.ErrUnavailable},
		"another object": {200, `{"created":[]}`, hosting.ErrUnavailable},
		"no id":          {200, `{"created":{}}`, hosting.ErrUnavailable},
		"a part that failed": {200,
			`{"created":{},"failed":[{"error":{"code":"ENV_CONFLICT","message":"` + quoted + `"}}]}`, hosting.ErrRejected},
		"too long an answer": {200, `{"created":{"id":"` + strings.Repeat("x", 17<<20) + `"}}`,
			hosting.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter,
				*http.Request) {
				t.Error("the token was sent elsewhere")
			}))
			defer elsewhere.Close()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", elsewhere.URL)
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			_, err := open(t, server.URL).SetVariable(t.Context(), hosting.Access{Token: "the-token"}, "p",
				hosting.NewVariable{Name: "K", Value: "the-value"})
			require.ErrorIs(t, err, c.want)
			for _, hidden := range []string{"bob@", secret, "the-token", "the-value", "127.0.0.1"} {
				require.NotContains(t, err.Error(), hidden)
			}
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for name, c := range map[string]struct {
		headers []string // of the 429s, before the answer
		within  time.Duration
		asked   int
		took    time.Duration
		after   time.Duration // of the error; 0: none
	}{
		"short":                   {[]string{"2", "3"}, time.Minute, 3, 5 * time.Second, 0},
		"too often":               {[]string{"1", "1", "4"}, time.Minute, 3, 2 * time.Second, 4 * time.Second},
		"long":                    {[]string{"90"}, time.Hour, 1, 0, 90 * time.Second},
		"longer than the request": {[]string{"3"}, 2 * time.Second, 1, 0, 3 * time.Second},
		"absurd":                  {[]string{"99999999999"}, time.Hour, 1, 0, time.Hour},
		"unknown":                 {[]string{""}, time.Hour, 1, 0, 10 * time.Second},
		"a time":                  {[]string{"Sat, 01 Jan 2000 00:00:04 GMT"}, time.Hour, 2, 4 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := open(t, "http://platform.test")
				asked := 0
				p.Through(roundTripper(func(*http.Request) (*http.Response, error) {
					asked++
					recorded := httptest.NewRecorder()
					if asked <= len(c.headers) {
						recorded.Header().Set("Retry-After", c.headers[asked-1])
						recorded.WriteHeader(http.StatusTooManyRequests)
					} else {
						_, _ = recorded.WriteString(`{"id":"prj_1","name":"site"}`)
					}
					return recorded.Result(), nil
				}))
				ctx, cancel := context.WithTimeout(t.Context(), c.within)
				defer cancel()
				begun := time.Now()
				_, err := p.Project(ctx, hosting.Access{Token: "t"}, "site")
				require.Equal(t, c.took, time.Since(begun))
				require.Equal(t, c.asked, asked)
				var limited *hosting.LimitedError
				if c.after == 0 {
					require.NoError(t, err)
					return
				}
				require.ErrorAs(t, err, &limited)
				require.Equal(t, c.after, limited.After)
			})
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAPlatformThatIsAwayIsLeftAlone(t *testing.T) {
	p := open(t, "http://platform.test")
	asked := 0
	p.Through(roundTripper(func(*http.Request) (*http.Response, error) {
		asked++
		return nil, errors.New("refused")
	}))
	for range 20 {
		_, err := p.Project(t.Context(), hosting.Access{Token: "t"}, "site")
		require.ErrorIs(t, err, hosting.ErrUnavailable)
	}
	require.Equal(t, 5, asked)
}
