package vercel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/recital-tts/recital/internal/process/pause"
	"github.com/recital-tts/recital/internal/providers/circuit"
	"github.com/recital-tts/recital/internal/providers/hosting"
)

// Config configures a Platform. URL, Timeout, Pause and Logger are optional.
type Config struct {
	ClientID     string
	ClientSecret string
	RedirectURL  string        // that the platform redirected the browser to with a code
	URL          string        // of another server that speaks the API; "" for Vercel's
	Timeout      time.Duration // of one request; 10 s
	Pause        time.Duration // without requests after an outage was detected; 5 s
	Logger       *slog.Logger
	Watch        func(http.RoundTripper) http.RoundTripper // wraps the transport, to measure it; may be nil
}

const (
	maxReply     = 16 << 20 // bytes: projects are described at length
	tries        = 3        // while the platform limits the rate
	longestWait  = 5 * time.Second
	limitedFor   = 10 * time.Second // without a header Retry-After
	longestLimit = time.Hour
)

// Platform implements hosting.Platform.
type Platform struct {
	conf    Config
	client  *http.Client
	breaker *circuit.Breaker
}

// New returns a platform, which must be closed. It sends no request yet.
func New(conf Config) *Platform {
	conf.URL = strings.TrimRight(cmp.Or(conf.URL, "https://api.vercel.com"), "/")
	if conf.Logger == nil {
		conf.Logger = slog.New(slog.DiscardHandler)
	}
	if conf.Watch == nil {
		conf.Watch = func(t http.RoundTripper) http.RoundTripper { return t }
	}
	breaker := circuit.New("the hosting platform", conf.Pause, conf.Logger)
	return &Platform{conf: conf, breaker: breaker, client: &http.Client{
		Transport: conf.Watch(&http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
			MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second,
		}),
		Timeout: cmp.Or(conf.Timeout, 10*time.Second),
		// A redirect would send the token to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes idle connections.
func (p *Platform) Close() error {
	p.client.CloseIdleConnections()
	return nil
}

// question is a request to the platform.
type question struct {
	access       hosting.Access
	method, path string
	query        url.Values
	kind, body   string
	refused      func(status int, code string) error // in place of kindOf
}

// problem is an error of the platform.
type problem struct {
	Code string `json:"code"`
}

// ask sends a request, unless there is an outage, and decodes the response into out. While the platform limits the rate
// it tries again after a short wait.
func (p *Platform) ask(ctx context.Context, q question, out any) error {
	for try := 1; ; try++ {
		report, err := p.breaker.Allow()
		if err != nil {
			return &refusal{kind: hosting.ErrUnavailable, because: err}
		}
		err = p.try(ctx, q, out)
		if errors.Is(err, hosting.ErrUnavailable) {
			report(err)
			return err
		}
		report(nil)
		limited, found := errors.AsType[*hosting.LimitedError](err)
		if !found || limited.After > longestWait || try == tries || !sleep(ctx, limited.After) {
			return err
		}
	}
}

// sleep sleeps, and returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	end, ends := ctx.Deadline()
	return (!ends || time.Until(end) > d) && pause.For(ctx, d) == nil
}

func (p *Platform) try(ctx context.Context, q question, out any) error {
	query := url.Values{}
	for name, values := range q.query {
		query[name] = values
	}
	if q.access.Team != "" {
		query.Set("teamId", q.access.Team)
	}
	request, err := http.NewRequestWithContext(ctx, q.method, p.conf.URL+q.path+"?"+query.Encode(),
		strings.NewReader(q.body))
	if err != nil {
		return &refusal{kind: hosting.ErrRejected}
	}
	if q.access.Token != "" {
		request.Header.Set("Authorization", "Bearer "+q.access.Token)
	}
	if q.kind != "" {
		request.Header.Set("Content-Type", q.kind)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return away(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	body := io.LimitReader(response.Body, maxReply)
	if response.StatusCode >= 300 {
		return q.refusal(response, body)
	}
	if out == nil {
		return nil
	}
	if json.NewDecoder(body).Decode(out) != nil {
		return unreadable()
	}
	return nil
}

func (q question) refusal(response *http.Response, body io.Reader) error {
	if response.StatusCode == http.StatusTooManyRequests {
		return &hosting.LimitedError{After: retryAfter(response.Header.Get("Retry-After"))}
	}
	var said struct {
		Error json.RawMessage `json:"error"` // an object, or a code
	}
	var found problem
	if json.NewDecoder(body).Decode(&said) == nil && json.Unmarshal(said.Error, &found) != nil {
		_ = json.Unmarshal(said.Error, &found.Code)
	}
	kind := kindOf
	if q.refused != nil {
		kind = q.refused
	}
	return &refusal{
		kind: kind(response.StatusCode, found.Code), status: response.StatusCode, code: safe(found.Code),
		request: safe(response.Header.Get("X-Vercel-Id")),
	}
}

func kindOf(status int, _ string) error {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return hosting.ErrDenied
	case status == http.StatusNotFound, status == http.StatusGone:
		return hosting.ErrNotFound
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout:
		return hosting.ErrRejected
	}
	return hosting.ErrUnavailable
}

// retryAfter returns the wait of a header Retry-After, which has seconds or a time.
func retryAfter(value string) time.Duration {
	after := limitedFor
	if seconds, err := strconv.Atoi(value); err == nil {
		after = time.Duration(min(max(seconds, 1), int(longestLimit/time.Second))) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		after = max(time.Until(at), time.Second)
	}
	return min(after, longestLimit)
}

// refusal is an error of package hosting with the details for an operator's look-up. It contains no text of the
// platform, which may quote the request.
type refusal struct {
	kind    error
	status  int    // 0 without a response
	code    string // the platform's code, such as "forbidden"
	request string // the platform's id of the request
	because error  // without a response
}

// Error returns the kind, followed by the details in brackets.
func (r *refusal) Error() string {
	if r.because != nil {
		return r.kind.Error() + ": " + r.because.Error()
	}
	if r.status == 0 {
		return r.kind.Error()
	}
	return fmt.Sprintf("%v (status %d, code %q, request %q)", r.kind, r.status, r.code, r.request)
}

// Unwrap returns the kind, and the cause.
func (r *refusal) Unwrap() []error {
	if r.because != nil {
		return []error{r.kind, r.because}
	}
	return []error{r.kind}
}

var errNotRead = errors.New("its answer could not be read")

func unreadable() error { return &refusal{kind: hosting.ErrUnavailable, because: errNotRead} }

// away returns the error of a request without a response, without its URL.
func away(ctx context.Context, err error) error {
	var transport *url.Error
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.As(err, &transport):
		err = transport.Err
	}
	return &refusal{kind: hosting.ErrUnavailable, because: err}
}

var word = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,100}$`)

// safe returns an id or a code of the platform, or "" for any other text.
func safe(text string) string {
	if !word.MatchString(text) {
		return ""
	}
	return text
}
