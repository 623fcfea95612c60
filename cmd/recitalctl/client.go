package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"syscall"

	"github.com/recital-tts/recital/internal/events/logcopy"
)

// maxAnswer is the maximum number of bytes that are read of a response.
const maxAnswer = 8 << 20

// client calls the admin API.
type client struct {
	settings
	token string
	http  *http.Client
	notes io.Writer // may be nil
}

func newClient(s settings) (*client, error) {
	token, err := s.token()
	if err != nil {
		return nil, err
	}
	return &client{settings: s, token: token, http: newHTTPClient(s)}, nil
}

// auditor is a client with the auditor's token if it can be read, or else with the operator's.
type auditor struct{ *client }

func newAuditor(s settings) (auditor, error) {
	s.tokenName = "auditor-token"
	if _, err := s.token(); err != nil && s.TokenFile == "" {
		s.tokenName = ""
	}
	admin, err := newClient(s)
	return auditor{admin}, err
}

// newHTTPClient returns a client without proxies and redirects, which would send the token to another server.
func newHTTPClient(s settings) *http.Client {
	return &http.Client{
		Timeout:       s.Timeout,
		Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// answer is a complete response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// get requests a resource and decodes it. Errors start with doing.
func get[T any](ctx context.Context, c *client, doing, path string) (T, error) {
	return call[T](ctx, c, doing, http.MethodGet, path, nil)
}

// post sends a command and decodes its result.
func post[T any](ctx context.Context, c *client, doing, path string, command any) (result T, err error) {
	body, err := json.Marshal(command)
	if err != nil {
		return result, fmt.Errorf("encoding the request: %w", err)
	}
	return call[T](ctx, c, doing, http.MethodPost, path, body)
}

// remove deletes a resource and decodes the response.
func remove[T any](ctx context.Context, c *client, doing, path string) (T, error) {
	return call[T](ctx, c, doing, http.MethodDelete, path, nil)
}

func call[T any](ctx context.Context, c *client, doing, method, path string, body []byte) (result T, err error) {
	got, err := c.do(ctx, method, path, body)
	if err == nil {
		err = c.read(got, &result)
	}
	if err != nil {
		return result, fmt.Errorf("%s: %w", doing, err)
	}
	if c.notes != nil && got.header.Get("x-recital-stale") == "true" {
		fmt.Fprintln(c.notes, "The read models are behind: it may take a moment until the change takes effect.")
	}
	return result, nil
}

// read decodes a result. An empty result is an error, because recitald never sends one.
func (c *client) read(got answer, result any) error {
	if err := c.refusal(got); err != nil {
		return err
	}
	value := reflect.ValueOf(result).Elem()
	isEmpty := value.Kind() == reflect.Struct && value.NumField() == 0
	if err := json.Unmarshal(got.body, result); err != nil || value.IsZero() && !isEmpty {
		return c.notUnderstood()
	}
	return nil
}

// listing is a list of the admin API.
type listing struct {
	doing, path string
	query       url.Values
	token       string // name of the query parameter with a page's token
	limit       int    // 0 means all
	largest     int    // largest page; 0 if pages have no limit
}

// pages yields the pages of a list until the limit is reached. size returns the number of items of a page and the token
// of the next page, which is nil on the last page.
func pages[P any](
	ctx context.Context, c *client, list listing, size func(P) (int, *string),
) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		left := cmp.Or(list.limit, math.MaxInt)
		for {
			if list.largest > 0 {
				list.query.Set("limit", strconv.Itoa(min(list.largest, left)))
			}
			got, err := get[P](ctx, c, list.doing, list.path+"?"+list.query.Encode())
			count, next := size(got)
			if !yield(got, err) || err != nil || next == nil {
				return
			}
			if left -= count; left <= 0 {
				return
			}
			list.query.Set(list.token, *next)
		}
	}
}

// stream requests a body that may be large and take long. Only its header has to come within the timeout. The caller
// handles failures while reading the body.
func (c *client) stream(ctx context.Context, path string) (io.ReadCloser, error) {
	request, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	patient := *c.http
	patient.Timeout = 0
	patient.Transport = &http.Transport{
		Proxy: nil, DisableKeepAlives: true, ResponseHeaderTimeout: c.Timeout, DisableCompression: true,
	}
	response, err := patient.Do(request)
	if err != nil {
		return nil, unreachable(request, err)
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	got, err := whole(request, response)
	if err != nil {
		return nil, err
	}
	if err := c.refusal(got); err != nil {
		return nil, err
	}
	return nil, c.notUnderstood()
}

// sendInPieces sends a content that is too long for one request.
func (c *client) sendInPieces(ctx context.Context, path string, from io.Reader) error {
	return inPieces(from, func(offset int64, piece []byte) error {
		got, err := c.do(ctx, http.MethodPut, path+"?offset="+strconv.FormatInt(offset, 10), piece)
		if err != nil {
			return err
		}
		return c.refusal(got)
	})
}

func (c *client) do(ctx context.Context, method, path string, body []byte) (answer, error) {
	request, err := c.request(ctx, method, path, body)
	if err != nil {
		return answer{}, err
	}
	return send(c.http, request)
}

func (c *client) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+c.AdminAddr+path, bytes.NewReader(body))
	if err != nil {
		return nil, fail(exitUsage, "the admin address %q is invalid", c.AdminAddr)
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	if c.Reason != "" {
		request.Header.Set("x-recital-reason", c.Reason)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

func send(through *http.Client, request *http.Request) (answer, error) {
	response, err := through.Do(request)
	if err != nil {
		return answer{}, unreachable(request, err)
	}
	return whole(request, response)
}

func whole(request *http.Request, response *http.Response) (answer, error) {
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return answer{}, unreachable(request, err)
	}
	return answer{status: response.StatusCode, header: response.Header, body: body}, nil
}

// unreachable describes a failed request for people.
func unreachable(request *http.Request, err error) error {
	address := request.URL.Host
	timeout, timed := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, context.Canceled):
		return fail(exitFailed, "interrupted%s", unknownOutcome(request))
	case errors.Is(err, syscall.ECONNREFUSED):
		return failForNow(exitUnreachable,
			"nothing listens on %s; is recitald running? If it is a service, systemctl status recitald shows why not; "+
				"if it serves elsewhere, give its data folder (--data-dir) or its address", address)
	case timed && timeout.Timeout():
		return failForNow(exitUnreachable, "%s did not answer in time%s", address, unknownOutcome(request))
	}
	if outer, is := errors.AsType[*url.Error](err); is { // its text repeats the address
		err = outer.Err
	}
	return failForNow(exitUnreachable, "%s cannot be reached: %w%s", address, err, unknownOutcome(request))
}

func unknownOutcome(request *http.Request) string {
	if request.Method == http.MethodGet {
		return ""
	}
	return "; its outcome is unknown"
}

func (c *client) notUnderstood() error {
	return fail(exitFailed, "the response of %s cannot be read; is it the admin address of a recitald?", c.AdminAddr)
}

// refusal returns the error of a response, or nil.
func (c *client) refusal(got answer) error {
	switch {
	case got.status < 300:
		return nil
	case got.status == http.StatusUnauthorized:
		return fail(exitToken, "the recitald on %s does not accept the token in %s; "+
			"is that the data folder of this recitald?",
			c.AdminAddr, c.tokenPath())
	case got.status == http.StatusForbidden:
		return fail(exitToken, "the token in %s is not an operator's", c.tokenPath())
	case got.status == http.StatusNotFound && !tellsWhy(got.body):
		return fail(exitFailed, "%s does not know this command; is it the admin address of a recitald of this version?",
			c.AdminAddr)
	case got.status >= 500:
		return failForNow(exitFailed, "recitald failed: %s (status %d, request %s)",
			explanation(got.body), got.status, printable(got.header.Get("request-id")))
	}
	return &failure{code: exitFailed, status: got.status, err: fmt.Errorf("recitald refused: %s", explanation(got.body))}
}

// errorBody is the body of a refusal.
type errorBody struct {
	Error  string          `json:"error"`
	Detail json.RawMessage `json:"detail"`
}

// tellsWhy reports whether the body is a refusal, and not the response to an unknown path, which also has a detail.
func tellsWhy(body []byte) bool {
	var told errorBody
	return json.Unmarshal(body, &told) == nil && told.Error != "" && told.Detail == nil
}

// explanation returns the text of an error body: the errors of single inputs, or else the error of the whole request.
func explanation(body []byte) string { return printable(words(body)) }

func words(body []byte) string {
	var told errorBody
	if json.Unmarshal(body, &told) != nil {
		return "it gave no reason"
	}
	var inputs []struct {
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	}
	if json.Unmarshal(told.Detail, &inputs) == nil && len(inputs) > 0 {
		lines := make([]string, len(inputs))
		for i, input := range inputs {
			lines[i] = inputName(input.Loc) + input.Msg
		}
		return strings.Join(lines, "; ")
	}
	return told.Error
}

// inputName returns the last part of an input's location: plan for ("body", "plan").
func inputName(loc []any) string {
	if len(loc) < 2 {
		return ""
	}
	return fmt.Sprint(loc[len(loc)-1], ": ")
}

// isPassing reports whether another attempt may succeed, because a stream was cut or recitald was unreachable.
func isPassing(err error) bool {
	f, failed := errors.AsType[*failure](err)
	return errors.Is(err, logcopy.ErrCut) || failed && f.passing
}

// queryOf returns the parameters that are not empty.
func queryOf(values map[string]string) url.Values {
	query := url.Values{}
	for name, value := range values {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}
