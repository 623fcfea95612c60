package stream_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkIdleSessions measures the memory of a silent session. The clients are bare connections in the same process,
// which adds less than 1 KiB to each.
func BenchmarkIdleSessions(b *testing.B) {
	sessions := benchtest.Size(1000, 50)
	processes.StartOwn(b)
	h := newHouse(b, func(cfg *web.Config) { cfg.Limits.AccountSockets = sessions })
	_, key := h.open("enterprise")
	for b.Loop() {
		before := memory()
		var open []net.Conn
		for range sessions {
			open = append(open, h.bareSession(b, key))
		}
		b.ReportMetric(float64(memory()-before)/float64(sessions), "B/session")
		b.ReportMetric(float64(runtime.NumGoroutine())/float64(sessions), "goroutines/session")
		for _, conn := range open {
			conn.Close()
		}
	}
	benchtest.Finish(b)
}

// BenchmarkQuietSessions measures the memory of sessions in the codec processes after they have spoken: with their
// encoders released, and with encoders kept.
func BenchmarkQuietSessions(b *testing.B) {
	sessions := benchtest.Size(200, 40)
	var rested, kept int64
	for b.Loop() {
		rested += codecMemory(b, sessions, 10*time.Millisecond)
		kept += codecMemory(b, sessions, time.Hour)
	}
	each := float64(b.N * sessions)
	benchtest.Compare(b, "codec-B/session", float64(rested)/each, float64(kept)/each)
	benchtest.Finish(b)
}

// codecMemory returns the bytes by which a codec process grows for sessions that have spoken.
func codecMemory(b *testing.B, sessions int, quiet time.Duration) int64 {
	b.Helper()
	processes.StartOwn(b)
	h := newHouse(b, func(cfg *web.Config) { cfg.Limits.AccountSockets = sessions })
	h.synth.QuietEncoder = quiet
	_, key := h.open("enterprise")
	pid := childOf(b, "codec")
	before := resident(b, pid)
	for range sessions {
		c := h.begin(b, key, dialectC+`,"format":"mp3"`)
		c.send(`{"type":"text","text":"So"}`, `{"type":"flush","nonce":1}`)
		c.until("flush_complete")
	}
	if quiet < time.Hour {
		require.Eventually(b, func() bool { return h.codecs.Stats().Streams == 0 }, patience, time.Millisecond)
	}
	return resident(b, pid) - before
}

// resident returns the resident bytes of a process (proc_pid_statm(5)).
func resident(b *testing.B, pid int) int64 {
	b.Helper()
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	require.NoError(b, err)
	pages, err := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	require.NoError(b, err)
	return pages * int64(os.Getpagesize())
}

// memory returns the bytes in the heap and the stacks after a collection.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapInuse + stats.StackInuse)
}

// bareSession opens a session without a client library, and returns when it is ready.
func (h *house) bareSession(b *testing.B, key string) net.Conn {
	b.Helper()
	conn, err := net.Dial("tcp", h.addr)
	require.NoError(b, err)
	_, err = io.WriteString(conn, "GET /v1/ai/speech/stream HTTP/1.1\r\nHost: x\r\nConnection: "+
		"Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	require.NoError(b, err)
	reader := bufio.NewReaderSize(conn, 512)
	response, err := http.ReadResponse(reader, nil)
	require.NoError(b, err)
	require.Equal(b, 101, response.StatusCode)
	opening := fmt.Sprintf(`{"X-API-Key":%q,"voice":"leah","lmnt-version":"1.1"}`, key)
	require.Less(b, len(opening), 126)
	_, err = conn.Write(append([]byte{0x81, 0x80 | byte(len(opening)), 0, 0, 0, 0}, opening...)) // masked with zeros
	require.NoError(b, err)
	ready := make([]byte, 2)
	_, err = io.ReadFull(reader, ready)
	require.NoError(b, err)
	_, err = io.ReadFull(reader, make([]byte, ready[1]))
	require.NoError(b, err)
	return conn
}
