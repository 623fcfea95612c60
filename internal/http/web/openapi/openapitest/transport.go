package openapitest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// Tests is implemented by *testing.M.
type Tests interface{ Run() int }

// Checked checks replies to http.DefaultClient, and to clients of Through, while tests run, if the server has a
// description at /openapi.json. The tests fail if a reply differs from it.
func Checked(m Tests) Tests { return checked{m} }

type checked struct{ tests Tests }

func (c checked) Run() int {
	before := http.DefaultTransport
	defer func() { http.DefaultTransport = before }()
	found := &findings{fetch: before, hosts: map[string]*Document{}, parsed: map[[sha256.Size]byte]*Document{}}
	http.DefaultTransport = &Transport{next: before, found: found}
	code := c.tests.Run()
	if err := found.err(); err != nil {
		fmt.Fprintf(os.Stderr, "replies were not as their server describes them:\n%v\n", err)
		return max(code, 1)
	}
	return code
}

// Through is for clients that do not use http.DefaultTransport. Outside of Checked it is next itself.
func Through(next http.RoundTripper) http.RoundTripper {
	if checked, ok := http.DefaultTransport.(*Transport); ok {
		return &Transport{next: next, found: checked.found}
	}
	return next
}

// Transport checks the replies that pass through it. A wrong one ends its request with an error. Only JSON is buffered:
// audio streams on.
type Transport struct {
	next  http.RoundTripper
	found *findings
}

// CloseIdleConnections is for http.Client.
func (c *Transport) CloseIdleConnections() {
	for _, one := range []http.RoundTripper{c.next, c.found.fetch} {
		if closer, ok := one.(interface{ CloseIdleConnections() }); ok {
			closer.CloseIdleConnections()
		}
	}
}

// RoundTrip sends a request.
func (c *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	document := c.found.document(request, false)
	response, err := c.next.RoundTrip(request)
	if err != nil || document == nil {
		return response, err
	}
	schema, err := document.CheckHead(request.Method, request.URL, response.StatusCode, response.Header)
	if err != nil {
		// Another server, perhaps without a description, may have got the address of one that has ended.
		fresh := c.found.document(request, true)
		if fresh == nil {
			return response, nil
		}
		if fresh != document {
			schema, err = fresh.CheckHead(request.Method, request.URL, response.StatusCode, response.Header)
		}
	}
	if err != nil {
		response.Body.Close()
		return nil, c.found.add(request, response, err)
	}
	if schema != nil && request.Method != http.MethodHead && response.Header.Get("Content-Encoding") == "" {
		response.Body = &body{ReadCloser: response.Body, check: func(content []byte) error {
			if err := checkJSON(schema, content); err != nil {
				return c.found.add(request, response, err)
			}
			return nil
		}}
	}
	return response, nil
}

// body checks what was read once all of it was.
type body struct {
	io.ReadCloser
	content []byte
	check   func([]byte) error
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.content = append(b.content, p[:n]...)
	if errors.Is(err, io.EOF) && b.check != nil {
		if wrong := b.check(b.content); wrong != nil {
			err = wrong
		}
		b.check = nil
	}
	return n, err
}

// findings are what all transports have learnt.
type findings struct {
	fetch http.RoundTripper

	mu     sync.Mutex
	hosts  map[string]*Document // nil if the server has no description
	parsed map[[sha256.Size]byte]*Document
	wrong  []error
}

func (f *findings) add(request *http.Request, response *http.Response, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err = fmt.Errorf("%s %s, answered %d: %w", request.Method, request.URL.Path, response.StatusCode, err)
	f.wrong = append(f.wrong, err)
	return err
}

func (f *findings) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.wrong...)
}

// document is how the host of a request describes itself; nil when it does not, or cannot be asked at present.
func (f *findings) document(request *http.Request, again bool) *Document {
	f.mu.Lock()
	defer f.mu.Unlock()
	host := request.URL.Scheme + "://" + request.URL.Host
	if known, ok := f.hosts[host]; ok && !again {
		return known
	}
	description, status, err := f.read(request.Context(), host+"/openapi.json")
	switch {
	case err != nil || status == http.StatusServiceUnavailable:
		return nil
	case status != http.StatusOK:
		f.hosts[host] = nil
		return nil
	}
	key := sha256.Sum256(description)
	if f.parsed[key] == nil {
		parsed, err := Parse(description)
		if err != nil {
			f.wrong = append(f.wrong, err)
			return nil
		}
		f.parsed[key] = parsed
	}
	f.hosts[host] = f.parsed[key]
	return f.hosts[host]
}

// read takes its time, whatever the request's own deadline is: nothing is timed here.
func (f *findings) read(ctx context.Context, address string) (description []byte, status int, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, 0, err
	}
	request.Close = true
	response, err := f.fetch.RoundTrip(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	description, err = io.ReadAll(response.Body)
	return description, response.StatusCode, err
}
