package stream_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/benchtest"
	"github.com/recital-tts/recital/internal/web"
)

// BenchmarkIdleSessions measures the memory of a session that has begun and is silent. The clients are bare
// connections in the same process, which adds less than 1 KiB to each.
func BenchmarkIdleSessions(b *testing.B) {
	sessions := benchtest.Size(1000, 50)
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

// memory is what the heap and the stacks hold after a collection.
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
	_, err = io.WriteString(conn, "GET /v1/ai/speech/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
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
