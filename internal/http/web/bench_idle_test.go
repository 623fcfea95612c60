package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"

	"github.com/fasthttp/websocket"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// The benchmarks of idle clients measure the memory of 10,000 quiet connections, compared with fasthttp alone. The
// clients are another process, because they need as many files again.

const (
	askSocket = "GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: " +
		"websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nx-api-key: " + goodKey + "\r\n\r\n"
	firstMessage = "\x81\x81\x00\x00\x00\x00x" // masked with zeros
)

func BenchmarkIdleConnections(b *testing.B) {
	bare := &fasthttp.Server{
		ReduceMemoryUsage: true, Handler: func(http *fasthttp.RequestCtx) { http.SetBodyString(`{"ok":true}`) },
	}
	compareIdle(b, bare, askOK, "B/connection")
}

func BenchmarkIdleSockets(b *testing.B) {
	upgrader := websocket.FastHTTPUpgrader{ReadBufferSize: 1 << 10, WriteBufferSize: 1 << 10}
	bare := &fasthttp.Server{ReduceMemoryUsage: true, Handler: func(http *fasthttp.RequestCtx) {
		_ = upgrader.Upgrade(http, func(ws *websocket.Conn) {
			for {
				if _, _, err := ws.ReadMessage(); err != nil {
					return
				}
			}
		})
	}}
	compareIdle(b, bare, askSocket, "B/socket")
}

func compareIdle(b *testing.B, bare *fasthttp.Server, request, unit string) {
	clients := benchtest.Size(10_000, 500)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	served := make(chan error, 1)
	go func() { served <- bare.Serve(ln) }()
	listening := func(_ context.Context, conn *web.Conn) error {
		if _, err := conn.Authenticate(""); err != nil {
			return err
		}
		for {
			if _, err := conn.Read(); err != nil {
				return err
			}
		}
	}
	s := start(b, web.Config{
		Routes: []web.Route{web.Get("/ok", ok, web.Public()), web.Socket("/socket", listening)},
		Limits: web.Limits{AddressConnections: clients, AccountSockets: clients},
	})
	for b.Loop() {
		other := idleMemory(b, ln.Addr().String(), request, clients)
		ours := idleMemory(b, s.addr, request, clients)
		benchtest.Compare(b, unit, ours, other)
	}
	require.NoError(b, bare.Shutdown())
	require.NoError(b, <-served)
	benchtest.Finish(b)
}

// idleMemory returns the heap and stacks of one client in bytes.
func idleMemory(b *testing.B, addr, request string, clients int) float64 {
	b.Helper()
	before := heapAndStacks()
	helper := exec.Command(os.Args[0])
	helper.Env = append(os.Environ(), "HOLD_ADDR="+addr, "HOLD_CLIENTS="+strconv.Itoa(clients), "HOLD_REQUEST="+request)
	helper.Stderr = os.Stderr
	hold, err := helper.StdinPipe()
	require.NoError(b, err)
	told, err := helper.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, helper.Start())
	line, err := bufio.NewReader(told).ReadString('\n')
	require.NoError(b, err)
	require.Equal(b, "held\n", line)
	after := heapAndStacks()
	require.NoError(b, hold.Close())
	require.NoError(b, helper.Wait())
	return float64(after-before) / float64(clients)
}

func heapAndStacks() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapInuse + stats.StackInuse)
}

// holdClients runs in the other process. It sends a request on each connection, reads the reply, and keeps all
// connections until its input ends. Sockets send a message, too.
func holdClients(addr, request string, clients int) error {
	var held []net.Conn // unreferenced connections would be closed
	defer func() { runtime.KeepAlive(held) }()
	for range clients {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		held = append(held, conn)
		if _, err := io.WriteString(conn, request); err != nil {
			return err
		}
		response, err := http.ReadResponse(bufio.NewReaderSize(conn, 512), nil)
		if err != nil {
			return err
		}
		switch response.StatusCode {
		case http.StatusSwitchingProtocols:
			if _, err := io.WriteString(conn, firstMessage); err != nil {
				return err
			}
		case http.StatusOK:
		default:
			return fmt.Errorf("reply %d", response.StatusCode)
		}
	}
	fmt.Println("held")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}
