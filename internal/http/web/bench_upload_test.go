package web_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkUpload uploads 250 MB. The speed is compared with copying a connection to a file, and the maximum growth of
// heap and stacks with that for a tenth of the size.
func BenchmarkUpload(b *testing.B) {
	size := benchtest.Size(250_000_000, 25_000_000)
	dir := b.TempDir()
	files, err := spool.Open(spool.Config{Dir: filepath.Join(dir, "uploads"), Budget: 1024 * mib, MaxFile: 250 * mib})
	require.NoError(b, err)
	counts := func(_ *web.Call, in uploadIn) (web.Reply, error) { return web.JSON(in.Files[0].Content.Size()), nil }
	s := start(b, web.Config{
		Uploads: files, Limits: web.Limits{Uploads: 1024 * mib, AddressUploads: 1024 * mib},
		Routes: []web.Route{web.Post("/upload", counts, web.Uploads(250*mib))},
	})
	var rate, bare, grown, grownLess float64
	for b.Loop() {
		bare += copied(b, dir, size)
		_, less := uploaded(b, s, size/10)
		megabytes, more := uploaded(b, s, size)
		rate, grown, grownLess = rate+megabytes, grown+more, grownLess+less
	}
	n := float64(b.N)
	benchtest.Compare(b, "MB/s", rate/n, bare/n)
	benchtest.Compare(b, "KiB-grown", grown/n, grownLess/n)
	benchtest.Finish(b)
}

// uploaded returns the speed of an upload in MB/s, and the growth of memory in KiB.
func uploaded(b *testing.B, s *site, size int) (rate, grown float64) {
	head := "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.wav\"\r\n\r\n"
	tail := "\r\n--b--\r\n"
	conn, err := net.Dial("tcp", s.addr)
	require.NoError(b, err)
	defer conn.Close()
	before := heapAndStacks()
	peak, stop := watchMemory()
	begun := time.Now()
	_, err = io.WriteString(conn, uploadHead(len(head)+size+len(tail))+head)
	require.NoError(b, err)
	_, err = io.Copy(conn, io.MultiReader(zeros(size), strings.NewReader(tail)))
	require.NoError(b, err)
	response, err := http.ReadResponse(newReader(conn), nil)
	require.NoError(b, err)
	took := time.Since(begun)
	stop()
	body, err := io.ReadAll(response.Body)
	require.NoError(b, err)
	require.Equal(b, fmt.Sprint(size), string(body))
	return float64(size) / 1e6 / took.Seconds(), float64(max(0, peak.Load()-before)) / 1024
}

// copied returns the speed of copying a connection to a file, in MB/s.
func copied(b *testing.B, dir string, size int) float64 {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	defer ln.Close()
	sent := make(chan error, 1)
	go func() {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err == nil {
			_, err = io.Copy(conn, zeros(size))
			conn.Close()
		}
		sent <- err
	}()
	conn, err := ln.Accept()
	require.NoError(b, err)
	defer conn.Close()
	file, err := os.CreateTemp(dir, "")
	require.NoError(b, err)
	defer file.Close()
	defer os.Remove(file.Name())
	begun := time.Now()
	_, err = io.CopyBuffer(struct{ io.Writer }{file}, struct{ io.Reader }{conn}, make([]byte, 64<<10))
	require.NoError(b, err)
	require.NoError(b, <-sent)
	return float64(size) / 1e6 / time.Since(begun).Seconds()
}

// zeros returns a reader of the given number of zero bytes.
func zeros(size int) io.Reader { return io.LimitReader(endless{}, int64(size)) }

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// watchMemory records the peak of heap and stacks until it is stopped.
func watchMemory() (peak *atomic.Int64, stop func()) {
	peak = &atomic.Int64{}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			peak.Store(max(peak.Load(), int64(stats.HeapInuse+stats.StackInuse)))
			select {
			case <-end:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return peak, func() { close(end); <-ended }
}
