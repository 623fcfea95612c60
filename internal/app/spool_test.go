package app_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// headOf requests speech on a new connection and reads only the head of the reply.
func headOf(t testing.TB, address, key, path, body string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: recital\r\nX-API-Key: %s\r\nContent-Type: "+
		"application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, key, len(body), body)
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	return response
}

// collected is headOf for speech that is sent as a whole. It repeats requests that exceed their time limit on a slow
// machine.
func collected(t testing.TB, address, key, body string) *http.Response {
	t.Helper()
	response := headOf(t, address, key, "/v1/ai/speech", body)
	for end := time.Now().Add(patience); response.StatusCode == http.StatusGatewayTimeout && time.Now().Before(end); {
		response = headOf(t, address, key, "/v1/ai/speech", body)
	}
	return response
}

// longest returns a request for the most audio from the given number of characters: the engine speaks old letters by
// their long names.
func longest(letter string, characters int) string {
	return `{"text":"` + strings.Repeat(letter, characters) + `","voice":"leah","speed":0.25,"format":"pcm_f32le"}`
}

// heap returns the bytes in use.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func TestSlowReadersOfLargeRepliesHoldNoMemory(t *testing.T) {
	longtest.Only(t)
	// given a recitald
	cfg := config(t)
	a := open(t, cfg)
	key := secret(t, cfg, "dev-api-key")
	before := heap()

	// when clients get replies of more than 50 MB, and do not read them (larger ones may exceed the time limit on a slow
	// machine)
	var held int64
	for range 2 {
		response := collected(t, a.PublicAddr(), key, longest("Ϡ", 900))
		require.Equal(t, 200, response.StatusCode)
		require.Greater(t, response.ContentLength, int64(50<<20))
		held += response.ContentLength
	}

	// then the replies are not in memory
	require.Less(t, heap()-before, held/8)

	// and a reply of more than 256 MiB is refused with the reason, and is free
	response := collected(t, a.PublicAddr(), key, longest("Ϡ", 5000))
	if response.StatusCode == 504 { // the time limit, on a slow machine
		return
	}
	require.Equal(t, 422, response.StatusCode)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	for _, part := range []string{"256 MiB", "5000 characters", "speed 0.25", "pcm_f32le of 24000 Hz", `"text"`} {
		require.Contains(t, string(body), part)
	}
	requireUsage(t, a, key, 1800)
}

// Even with a short limit, a reply is cut and settled before its reservation may expire.
func TestAReplyThatIsCutIsSettledBeforeItsReservationExpires(t *testing.T) {
	longtest.Only(t)
	cfg := config(t)
	cfg.LongestStream = 5 * time.Second
	a := open(t, cfg)
	key := secret(t, cfg, "dev-api-key")
	response := headOf(t, a.PublicAddr(), key, "/v1/ai/speech/bytes", longest("🦑", 3000))
	require.Equal(t, 200, response.StatusCode)

	// its client pays for segments that were written to the connection, although it does not read them
	require.Eventually(t, func() bool { return usage(t, a, key) > 0 }, patience, pause)
	require.Less(t, usage(t, a, key), 3000)
}

// requireUsage checks the usage of a key's account, in characters.
func requireUsage(t testing.TB, a *app.App, key string, characters int) {
	t.Helper()
	require.Eventually(t, func() bool { return usage(t, a, key) == characters }, patience, pause)
}

// usage returns the usage of a key's account, in characters.
func usage(t testing.TB, a *app.App, key string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+a.PublicAddr()+"/v1/account", nil)
	require.NoError(t, err)
	request.Header.Set("X-API-Key", key)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	var account struct {
		Usage struct{ Characters int } `json:"usage"`
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&account))
	return account.Usage.Characters
}
