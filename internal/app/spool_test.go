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
)

// headOf requests speech over a connection of its own, and reads the head of the reply alone.
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

// collected is headOf for speech that is sent as a whole, which a slow machine may not make in the time of a request.
func collected(t testing.TB, address, key, body string) *http.Response {
	t.Helper()
	response := headOf(t, address, key, "/v1/ai/speech", body)
	for end := time.Now().Add(patience); response.StatusCode == http.StatusGatewayTimeout && time.Now().Before(end); {
		response = headOf(t, address, key, "/v1/ai/speech", body)
	}
	return response
}

// longest is a request for much audio from so many characters: the engine has long names for old letters.
func longest(letter string, characters int) string {
	return `{"text":"` + strings.Repeat(letter, characters) + `","voice":"leah","speed":0.25,"format":"pcm_f32le"}`
}

// heap is the size of what is in use.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func TestSlowReadersOfLargeRepliesHoldNoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("one of the longest scenarios")
	}
	// given a recitald
	cfg := config(t)
	a := open(t, cfg)
	key := secret(t, cfg, "dev-api-key")
	before := heap()

	// when clients get replies of more than 50 MB, and do not read them; larger ones take a slow machine longer than a
	// request may take
	var held int64
	for range 2 {
		response := collected(t, a.PublicAddr(), key, longest("Ϡ", 900))
		require.Equal(t, 200, response.StatusCode)
		require.Greater(t, response.ContentLength, int64(50<<20))
		held += response.ContentLength
	}

	// then they are not in memory
	require.Less(t, heap()-before, held/8)

	// and what is larger than 256 MiB is refused with the reason, and costs nothing
	response := collected(t, a.PublicAddr(), key, longest("Ϡ", 5000))
	if response.StatusCode == 504 { // a slow machine is not there yet when a request has to end
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

// The order of the limits is the same for short ones: a reply is cut, then settled, and only then may its
// reservation expire.
func TestAReplyThatIsCutIsSettledBeforeItsReservationExpires(t *testing.T) {
	if testing.Short() {
		t.Skip("one of the longest scenarios")
	}
	cfg := config(t)
	cfg.LongestStream = 5 * time.Second
	a := open(t, cfg)
	key := secret(t, cfg, "dev-api-key")
	response := headOf(t, a.PublicAddr(), key, "/v1/ai/speech/bytes", longest("🦑", 3000))
	require.Equal(t, 200, response.StatusCode)

	// its client pays for what was handed to the connection, which it does not read
	require.Eventually(t, func() bool { return usage(t, a, key) > 0 }, patience, pause)
	require.Less(t, usage(t, a, key), 3000)
}

// requireUsage requires that the account of a key has used so many characters.
func requireUsage(t testing.TB, a *app.App, key string, characters int) {
	t.Helper()
	require.Eventually(t, func() bool { return usage(t, a, key) == characters }, patience, pause)
}

// usage is what the account of a key has used.
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
