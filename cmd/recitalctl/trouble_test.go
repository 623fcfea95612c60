package main

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHelpHasExamplesSettingsAndExitCodes(t *testing.T) {
	t.Parallel()
	got := recitalctl(t, nil, "--help")
	assert.Zero(t, got.code)
	for _, part := range []string{"recitalctl accounts create --plan free", "RECITAL_ADMIN_ADDR", "127.0.0.1:8081",
		"RECITAL_DATA_DIR", "RECITAL_OPERATOR_TOKEN_FILE", "Exit codes", "doctor"} {
		assert.Contains(t, got.out, part)
	}
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no command":         {},
		"unknown command":    {"sing"},
		"unknown format":     {"accounts", "create", "--format", "xml"},
		"a URL as address":   {"doctor", "--admin-addr", "http://127.0.0.1:8081"},
		"no port":            {"doctor", "--admin-addr", "127.0.0.1"},
		"wrong public port":  {"doctor", "--http-addr", "8080"},
		"no time to answer":  {"doctor", "--timeout", "0s"},
		"a number of apples": {"doctor", "--timeout", "3 apples"},
		"an empty id":        {"accounts", "show", ""},
		"an empty filter":    {"audit", "sessions", "--account", ""},
		"another":            {"events", "--stream="},
		"before all times":   {"audit", "sessions", "--to", "0001-01-01T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			got := recitalctl(t, nil, args...)
			assert.Equal(t, 2, got.code)
			assert.Empty(t, got.out)
			assert.Contains(t, got.notes, "see recitalctl --help")
		})
	}
}

// Errors of servers that fail or are not recitald are explained in one line.
func TestTrouble(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("request-id", "req_1")
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(server.Close)
		return server.Listener.Addr().String()
	}
	const secret = "the-token-of-the-operator"
	folder := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	token := file("token", secret+"\n")

	for _, c := range []struct {
		name    string
		address string
		args    []string
		code    int
		says    string
	}{
		{"nothing listens", unused(t), []string{"--token-file", token}, 3,
			"is recitald running? If it is a service, systemctl status recitald shows why not; if it serves elsewhere, " +
				"give its data folder"},
		{"the server does not answer", silent(t), []string{"--token-file", token, "--timeout", "50ms"}, 3,
			"its outcome is unknown"},
		{"the name does not exist", "recital.invalid:8081", []string{"--token-file", token}, 3,
			"recital.invalid:8081 cannot be reached"},
		{"it is no recitald", answer(200, "<html>"), []string{"--token-file", token}, 1,
			"is it the admin address of a recitald?"},
		{"it gives no key", answer(200, "{}"), []string{"--token-file", token}, 1,
			"is it the admin address of a recitald?"},
		{"it sends us elsewhere", answer(307, ""), []string{"--token-file", token}, 1, "it gave no reason"},
		{"it fails", answer(500, `{"error":"Internal Server Error"}`), []string{"--token-file", token}, 1,
			"Internal Server Error (status 500, request req_1)"},
		{"it is not ready", answer(503, `{"error":"The event log does not answer"}`), []string{"--token-file", token}, 1,
			"The event log does not answer"},
		{"it refuses in detail", answer(422,
			`{"detail":[{"loc":["body","plan"],"msg":"a"},{"loc":["body","name"],"msg":"b"}]}`),
			[]string{"--token-file", token}, 1, "plan: a; name: b"},
		{"no token file", answer(200, "{}"), []string{"--token-file", filepath.Join(folder, "none")}, 4,
			"In mode prod it is in a file of your own: give that with --token-file"},
		{"no data folder", answer(200, "{}"), nil, 4, filepath.Join(".recital", "operator-token")},
		{"an empty token file", answer(200, "{}"), []string{"--token-file", file("empty", "\n")}, 4,
			"does not contain an operator token"},
		{"two lines", answer(200, "{}"), []string{"--token-file", file("lines", secret+"\n"+secret)}, 4,
			"does not contain an operator token"},
		{"recitald's list of operators", answer(200, "{}"), []string{
			"--token-file", file("operators", "ada operator "+strings.Repeat("0f", 32)+"\n"),
		}, 4,
			"If it is recitald's list of operators, give the file of your own token with --token-file"},
		{"a folder as token", answer(200, "{}"), []string{"--token-file", folder}, 4, "reading the operator token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := recitalctl(t, []string{"RECITAL_ADMIN_ADDR=" + c.address},
				append([]string{"accounts", "create"}, c.args...)...)
			assert.Equal(t, c.code, got.code)
			assert.Empty(t, got.out)
			assert.Contains(t, got.notes, c.says)
			assert.Equal(t, 1, strings.Count(got.notes, "\n"), "one line: %s", got.notes)
			assert.NotContains(t, got.notes, secret)
		})
	}
}

func TestTheDoctorReportsAllFaults(t *testing.T) {
	t.Parallel()
	got := recitalctl(t, []string{"RECITAL_ADMIN_ADDR=" + unused(t), "RECITAL_HTTP_ADDR=" + unused(t)}, "doctor")
	assert.Equal(t, 4, got.code)
	assert.Equal(t, 3, strings.Count(got.out, "FAULT"), got.out)
	assert.Contains(t, got.out, "there is no operator token at")
	assert.Equal(t, 2, strings.Count(got.out, "is recitald running?"), got.out)
}

func TestTheDoctorReportsWhyRecitaldIsNotReady(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("x\n"), 0o600))
	for body, says := range map[string]string{
		`{"status":"unavailable","missing":["Postgres","read model usage"]}`: "cannot serve: it lacks Postgres, read " +
			"model usage\n",
		`{"status":"draining"}`:            "cannot serve: it is draining\n",
		`{"error":"Too many connections"}`: "cannot serve: Too many connections\n",
		``:                                 "cannot serve: it gave no reason\n",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/ready_check" {
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = w.Write([]byte(body))
			}
		}))
		t.Cleanup(server.Close)
		address := server.Listener.Addr().String()
		got := recitalctl(t, []string{
			"RECITAL_ADMIN_ADDR=" + address, "RECITAL_HTTP_ADDR=" + address,
		}, "doctor", "--token-file", token)
		assert.Equal(t, 1, got.code)
		assert.Contains(t, got.out, says)
	}
}

// The doctor fails if it cannot write its findings.
func TestTheDoctorReportsAFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	var notes bytes.Buffer
	tool := exec.CommandContext(t.Context(), os.Args[0], "doctor", "--admin-addr", unused(t), "--data-dir", t.TempDir())
	tool.Env = []string{asTool + "=1"}
	tool.Stdout, tool.Stderr = full, &notes
	require.Error(t, tool.Run())
	require.Contains(t, notes.String(), "no space left on device")
}

// unused returns an address without a listener.
func unused(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

// silent returns an address that accepts connections and never responds.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}
