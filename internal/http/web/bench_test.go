package web_test

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
)

// BenchmarkRoute requests a trivial JSON route over keep-alive connections: one of this package, with authentication,
// binding of a query and a JSON body, request id and access log, compared with one of Fiber alone.
func BenchmarkRoute(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		app := fiber.New(fiber.Config{DisableStartupMessage: true})
		app.Post("/echo", func(c *fiber.Ctx) error {
			var in struct{ Text string }
			if err := c.BodyParser(&in); err != nil {
				return err
			}
			return c.JSON(map[string]string{"text": in.Text})
		})
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		served := make(chan error, 1)
		go func() { served <- app.Listener(ln) }()
		hammer(b, ln.Addr().String())
		require.NoError(b, app.Shutdown())
		require.NoError(b, <-served)
	})
	b.Run("web", func(b *testing.B) {
		type in struct {
			Text  string `body:"text" required:"true" maxlen:"5000"`
			Debug bool   `query:"debug"`
		}
		s := start(b, web.Config{Routes: []web.Route{
			web.Post("/echo", func(_ *web.Call, in in) (web.Reply, error) {
				return web.JSON(map[string]string{"text": in.Text}),
					nil
			}),
		}})
		hammer(b, s.addr)
	})
}

// hammer sends b.N requests over one connection for each processor.
func hammer(b *testing.B, addr string) {
	const body = `{"text":"Hello world."}`
	request := "POST /echo?debug=true HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nx-api-key: " + goodKey +
		"\r\nContent-Length: 23\r\n\r\n" + body
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			b.Error(err)
			return
		}
		defer conn.Close()
		reader := bufio.NewReader(conn)
		answer := make([]byte, len(body))
		for pb.Next() {
			if _, err := io.WriteString(conn, request); err != nil {
				b.Error(err)
				return
			}
			for line := ""; line != "\r\n"; {
				if line, err = reader.ReadString('\n'); err != nil || strings.HasPrefix(line, "HTTP/1.1 4") {
					b.Error(line, err)
					return
				}
			}
			if _, err := io.ReadFull(reader, answer); err != nil || string(answer) != body {
				b.Error(string(answer), err)
				return
			}
		}
	})
	b.StopTimer() // the servers take a moment to shut down
}
