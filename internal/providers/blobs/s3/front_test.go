package s3_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// front is a server between the store and its client. The test decides how it handles requests.
type front struct {
	address string
	lock    sync.Mutex
	seen    []string // kinds of requests
}

// handle answers a request; forward passes it on to the store.
type handle func(w http.ResponseWriter, r *http.Request, forward func(http.ResponseWriter))

func newFront(t *testing.T, behind string, do handle) *front {
	t.Helper()
	f := &front{}
	client := &http.Client{Transport: &http.Transport{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.note(r)
		do(w, r, func(w http.ResponseWriter) { forward(w, r, client, behind) })
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		client.CloseIdleConnections()
	})
	f.address = strings.TrimPrefix(server.URL, "http://")
	return f
}

// pass changes nothing.
func pass(w http.ResponseWriter, _ *http.Request, forward func(http.ResponseWriter)) { forward(w) }

func (f *front) note(r *http.Request) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.seen = append(f.seen, kindOf(r))
}

// requests returns the requests since the last call.
func (f *front) requests() []string {
	f.lock.Lock()
	defer f.lock.Unlock()
	seen := f.seen
	f.seen = nil
	return seen
}

func kindOf(r *http.Request) string {
	query := r.URL.Query()
	switch {
	case query.Has("partNumber"):
		return "part"
	case query.Has("uploadId"):
		return map[string]string{http.MethodPost: "complete", http.MethodDelete: "abort"}[r.Method]
	case query.Has("uploads"):
		return map[string]string{http.MethodPost: "begin", http.MethodGet: "unfinished"}[r.Method]
	case query.Has("list-type"):
		return "list"
	}
	return strings.ToLower(r.Method)
}

func forward(w http.ResponseWriter, r *http.Request, client *http.Client, behind string) {
	request, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+behind+r.URL.RequestURI(), r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	request.Header, request.Host, request.ContentLength = r.Header.Clone(), r.Host, r.ContentLength // the host is signed
	response, err := client.Do(request)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer response.Body.Close()
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body) // the client has gone
}
