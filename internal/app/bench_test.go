package app_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// The benchmarks compare a recitald with a baseline, alternating in the same run, so that other load affects both. All
// clients are closed loops: each waits for its reply before its next request.

// times collects durations.
type times struct {
	mu  sync.Mutex
	all []time.Duration
}

func (t *times) add(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, d)
}

// quantile returns the duration below which the given share of durations is.
func (t *times) quantile(share float64) time.Duration {
	slices.Sort(t.all)
	return t.all[min(len(t.all)-1, int(share*float64(len(t.all))))]
}

// compareTimes reports the median and the 99th percentile of both.
func compareTimes(b *testing.B, ours, bare *times) {
	b.Helper()
	benchtest.Compare(b, "p50-ms", milliseconds(ours.quantile(0.50)), milliseconds(bare.quantile(0.50)))
	benchtest.Compare(b, "p99-ms", milliseconds(ours.quantile(0.99)), milliseconds(bare.quantile(0.99)))
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// rate is an amount of work and its duration.
type rate struct {
	done float64
	took time.Duration
}

func (r *rate) perSecond() float64 { return r.done / r.took.Seconds() }

// window runs a number of clients that call do each times, and adds up the results.
func (r *rate) window(clients, each int, do func(client int) (done float64, err error)) error {
	begun := time.Now()
	var group sync.WaitGroup
	var mu sync.Mutex
	var first error
	for client := range clients {
		group.Go(func() {
			for range each {
				done, err := do(client)
				mu.Lock()
				r.done += done
				if err != nil && first == nil {
					first = err
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	group.Wait()
	r.took += time.Since(begun)
	return first
}

// client is one keep-alive connection. It does as little as possible, because it shares the processors.
type client struct {
	conn   net.Conn
	reader *bufio.Reader
}

func dial(b *testing.B, address string) *client {
	b.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	return &client{conn: conn, reader: bufio.NewReader(conn)}
}

func dialAll(b *testing.B, n int, address string) []*client {
	b.Helper()
	clients := make([]*client, n)
	for i := range clients {
		clients[i] = dial(b, address)
	}
	return clients
}

// ask sends a request, reads the complete reply and returns the time to the first byte of its body.
func (c *client) ask(request string) (firstByte time.Duration, err error) {
	begun := time.Now()
	if _, err := io.WriteString(c.conn, request); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return 0, err
	}
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("status %s", response.Status)
	}
	one := make([]byte, 1)
	if _, err := io.ReadFull(response.Body, one); err != nil {
		return 0, err
	}
	firstByte = time.Since(begun)
	_, err = io.Copy(io.Discard, response.Body)
	return firstByte, err
}

func post(path, headers, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: recital\r\n%sContent-Type: application/json\r\nContent-Length: "+
		"%d\r\n\r\n%s",
		path, headers, len(body), body)
}
