package stripe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/testing/bintest"
)

// requestChecker is a running stripe-mock. It only knows the description of the API: Stripe would refuse the requests
// that it refuses; its answers mean nothing.
type requestChecker struct {
	command *exec.Cmd
	folder  string // of its sockets
	ended   chan struct{}
	client  *http.Client
}

// startMock builds stripe-mock at the version in deploy/tools.mod and starts it, for TestMain. The caller must call
// Stop.
func startMock() (*requestChecker, error) {
	path, err := build()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "stripe-mock-") // no other process can take a socket in it, unlike a free port
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(folder, "http")
	command := exec.Command(path, "-http-unix", socket, "-https-unix", filepath.Join(folder, "https"))
	m := &requestChecker{command: command, folder: folder, ended: make(chan struct{}), client: &http.Client{
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}},
	}}
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting stripe-mock: %w", err), os.RemoveAll(folder))
	}
	go func() {
		_ = command.Wait() // it is killed
		close(m.ended)
	}()
	if err := m.awaitAnswer(); err != nil {
		m.Stop()
		return nil, fmt.Errorf("%w: %s", err, output.String())
	}
	return m, nil
}

// build builds stripe-mock and returns its path in the cache of the go command.
func build() (string, error) {
	module, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	tools := strings.TrimSuffix(strings.TrimSpace(string(module)), "go.mod") + "deploy/tools.mod"
	path, err := exec.Command("go", "tool", "-modfile="+tools, "-n", "stripe-mock").Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			return "", fmt.Errorf("building stripe-mock: %w\n%s", err, failed.Stderr)
		}
		return "", fmt.Errorf("building stripe-mock: %w", err)
	}
	return strings.TrimSpace(string(path)), nil
}

func (m *requestChecker) awaitAnswer() error {
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		if _, _, err := m.ask(context.Background(), http.MethodGet, "/v1/customers",
			http.Header{"Authorization": {"Bearer sk_test_1"}}, nil); err == nil {
			return nil
		}
		select {
		case <-m.ended:
			return errors.New("stripe-mock has ended")
		case <-time.After(20 * time.Millisecond):
		}
	}
	return errors.New("stripe-mock does not answer")
}

// Stop ends stripe-mock.
func (m *requestChecker) Stop() {
	_ = m.command.Process.Kill() // it has ended
	<-m.ended
	m.client.CloseIdleConnections()
	_ = os.RemoveAll(m.folder)
}

// Checked returns the address of a server that forwards requests to url and checks each one. The test fails if one is
// not valid for the API.
func (m *requestChecker) Checked(t testing.TB, url string) string {
	bintest.Watch(t, "../../../../deploy/tools.mod")
	client := &http.Client{Transport: &http.Transport{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the client has gone
		}
		status, why, err := m.ask(context.WithoutCancel(r.Context()), r.Method, r.URL.RequestURI(), r.Header, body)
		if err != nil || status >= http.StatusBadRequest {
			t.Errorf("stripe-mock refuses %s %s\n%s\n%d %s %v", r.Method, r.URL.RequestURI(), body, status, why, err)
		}
		forward(w, r, client, url, body)
	}))
	t.Cleanup(func() {
		server.Close()
		client.CloseIdleConnections()
	})
	return server.URL
}

func (m *requestChecker) ask(
	ctx context.Context, method, path string, header http.Header, body []byte,
) (status int, answer []byte, err error) {
	// stripe-mock is older than the library and does not know its version.
	body = bytes.Replace(body, []byte("api_version="+stripe.APIVersion), []byte("api_version=2025-09-30.clover"), 1)
	request, err := http.NewRequestWithContext(ctx, method, "http://stripe-mock"+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header = header.Clone()
	response, err := m.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// forward answers like the server at url, and cuts the connection if that does not answer.
func forward(w http.ResponseWriter, r *http.Request, client *http.Client, url string, body []byte) {
	request, err := http.NewRequestWithContext(r.Context(), r.Method, url+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	request.Header = r.Header.Clone()
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
