package operations_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"io"
	"net/http"
	"runtime/pprof"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/access/operators"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/writeapi/operations"
)

// profiles returns a function that requests profiles with a token.
func profiles(t *testing.T) (get func(token, path string) (status int, body []byte)) {
	url := webtest.Serve(t, web.Config{Routes: []web.Route{operations.ProfileRoute()}, Tokens: []operators.Token{
		{Hash: sha256.Sum256([]byte("operator")), Role: operators.Operator},
		{Hash: sha256.Sum256([]byte("auditor")), Role: operators.Auditor},
	}})
	return func(token, path string) (int, []byte) {
		if token != "" {
			token = "Bearer " + token
		}
		response, body := webtest.Send(t, http.MethodGet, url+"/debug/pprof/"+path, "", "Authorization", token)
		return response.StatusCode, []byte(body)
	}
}

func TestAnOperatorProfilesTheProcess(t *testing.T) {
	get := profiles(t)
	for path, unit := range map[string]string{
		"heap": "inuse_space", "allocs": "alloc_space", "goroutine": "goroutine", "profile?seconds=1": "nanoseconds",
	} {
		status, body := get("operator", path)
		require.Equal(t, http.StatusOK, status, path)
		unpacked, err := gzip.NewReader(bytes.NewReader(body))
		require.NoError(t, err, path)
		text, err := io.ReadAll(unpacked)
		require.NoError(t, err, path)
		require.Contains(t, string(text), unit, path)
	}
}

func TestNobodyElseDoes(t *testing.T) {
	get := profiles(t)
	for token, want := range map[string]int{"": 401, "nonsense": 401, "auditor": 403} {
		status, _ := get(token, "heap")
		require.Equal(t, want, status, token)
	}
}

func TestBadProfilesAreRefused(t *testing.T) {
	get := profiles(t)
	for _, path := range []string{"cmdline", "profile?seconds=0", "profile?seconds=61", "profile?seconds=x"} {
		status, _ := get("operator", path)
		require.Equal(t, http.StatusUnprocessableEntity, status, path)
	}
}

func TestTheCPUIsProfiledOnceAtATime(t *testing.T) {
	get := profiles(t)
	require.NoError(t, pprof.StartCPUProfile(io.Discard))
	status, body := get("operator", "profile?seconds=1")
	pprof.StopCPUProfile()
	require.Equal(t, http.StatusConflict, status, string(body))
}
