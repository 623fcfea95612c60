package voices

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/testing/benchtest"
	"github.com/recital-tts/recital/readapi"
)

// BenchmarkVoiceList lists the voices of accounts with few and with many of them, over HTTP, compared with a query of
// the same rows without decryption. Figures are medians. "MiB-heap" is the growth of the heap while a list is sent to a
// client that discards it.
func BenchmarkVoiceList(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // so that the heap is mostly live data
	s := newServer(b)
	plain := &http.Transport{} // the tests' transport checks all replies
	defer plain.CloseIdleConnections()
	for _, n := range []int{10, benchtest.Size(10_000, 1000)} {
		account := fmt.Sprint("bench", n)
		s.fill(account, n)
		b.Run(fmt.Sprintf("voices=%d", n), func(b *testing.B) {
			var ours, bare, grown []float64
			for b.Loop() {
				grows := watchHeap()
				ours = append(ours, s.timeList(b, plain, account))
				grown = append(grown, grows())
				bare = append(bare, s.timeBare(b, account, n))
			}
			benchtest.Compare(b, "ms", benchtest.Median(ours), benchtest.Median(bare))
			b.ReportMetric(benchtest.Median(grown), "MiB-heap")
			benchtest.Finish(b)
		})
	}
}

func (s *server) timeList(b *testing.B, client *http.Transport, account string) float64 {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, s.url+"/v1/ai/voice/list?owner=me", nil)
	require.NoError(b, err)
	request.Header.Set("x-api-key", account)
	began := time.Now()
	response, err := client.RoundTrip(request)
	require.NoError(b, err)
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	took := time.Since(began)
	require.NoError(b, err)
	require.Equal(b, http.StatusOK, response.StatusCode)
	return took.Seconds() * 1000
}

func (s *server) timeBare(b *testing.B, account string, n int) float64 {
	b.Helper()
	began := time.Now()
	query := readapi.From(readmodel.VoicesView, `where account_id = $1 order by created_at, voice_id`, "")
	rows, err := s.Pool.Query(b.Context(), query.SQL, account)
	require.NoError(b, err)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[readmodel.VoiceRow])
	took := time.Since(began)
	require.NoError(b, err)
	require.Len(b, found, n)
	return took.Seconds() * 1000
}

// watchHeap begins to watch the heap, and returns a function that stops and returns the growth in MiB.
func watchHeap() func() float64 {
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	runtime.GC()
	before := heap()
	var most atomic.Uint64
	most.Store(before)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			most.Store(max(most.Load(), heap()))
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() float64 {
		close(done)
		<-ended
		return float64(most.Load()-before) / (1 << 20)
	}
}
