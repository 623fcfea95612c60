package app_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkOpenStreams measures the memory of a stream to a client that has read the beginning and then stops:
// recitald's heap and stacks after a collection, its resident memory, and that of its workers. The clients are bare
// connections in the same process, which adds less than 1 KiB to each.
func BenchmarkOpenStreams(b *testing.B) {
	streams := benchtest.Size(200, 20)
	for _, spec := range []audio.Spec{{Format: audio.PCMS16LE, SampleRate: 24000}, mp3()} {
		b.Run(string(spec.Format), func(b *testing.B) {
			s := serveSpeech(b)
			request := s.order(story(5000), spec)
			s.holdStreams(b, 2, request)() // one-time costs
			for b.Loop() {
				before := s.weigh(b)
				hangUp := s.holdStreams(b, streams, request)
				after := s.weigh(b)
				hangUp()
				after.report(b, before, streams)
			}
			benchtest.Finish(b)
		})
	}
}

// holdStreams opens streams, reads their first bytes, and returns when recitald waits for their clients.
func (s speaker) holdStreams(b *testing.B, n int, request string) (hangUp func()) {
	b.Helper()
	var conns []net.Conn
	first := make([]byte, 4<<10)
	for range n {
		conn := dialSlowly(b, s.app.PublicAddr())
		conns = append(conns, conn)
		_, err := io.WriteString(conn, request)
		require.NoError(b, err)
	}
	for _, conn := range conns {
		_, err := io.ReadFull(conn, first)
		require.NoError(b, err)
		require.Equal(b, "HTTP/1.1 200", string(first[:12]))
	}
	s.awaitWorkers(b, n)
	return func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
		s.awaitWorkers(b, 0)
	}
}

// dialSlowly connects a client with small buffers. Packets of the Internet's size keep the kernel's buffers on the
// server's side small, too: on loopback they are 64 KiB otherwise.
func dialSlowly(b *testing.B, address string) net.Conn {
	b.Helper()
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		failed := raw.Control(func(fd uintptr) {
			err = errors.Join(syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 16<<10),
				syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 1400))
		})
		return errors.Join(failed, err)
	}}
	conn, err := dialer.Dial("tcp", address)
	require.NoError(b, err)
	return conn
}

// awaitWorkers waits until the codecs have the given number of streams and, many times in a row, no engine has a job.
func (s speaker) awaitWorkers(b *testing.B, streams int) {
	b.Helper()
	quiet := 0
	require.Eventually(b, func() bool {
		quiet++
		if s.sum(b, "recital_codec_streams") != streams || s.sum(b, "recital_speech_engines_busy") > 0 {
			quiet = 0
		}
		return quiet == 20
	}, 5*time.Minute, 10*time.Millisecond, "recitald does not wait for its clients")
}

// sum returns a metric's value, summed over its labels.
func (s speaker) sum(b *testing.B, name string) (total int) {
	b.Helper()
	request, err := http.NewRequest(http.MethodGet, "http://"+s.app.AdminAddr()+"/metrics", nil)
	require.NoError(b, err)
	request.Header.Set("Authorization", "Bearer "+secret(b, s.cfg, "operator-token"))
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	require.NoError(b, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(b, err)
	found := false
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if metric, _, _ := strings.Cut(fields[0], "{"); metric == name {
			value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
			require.NoError(b, err)
			total, found = total+int(value), true
		}
	}
	require.True(b, found, "there is no metric %s", name)
	return total
}

// weight is memory in bytes.
type weight struct{ heapAndStacks, resident, engines, codecs int64 }

func (s speaker) weigh(b *testing.B) (w weight) {
	b.Helper()
	runtime.GC()
	debug.FreeOSMemory() // collects again and returns unused memory to the system
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	w.heapAndStacks = int64(stats.HeapInuse + stats.StackInuse)
	w.resident = residentBytes(b, os.Getpid())
	for _, pid := range workersOf(b, "engine", "flite") {
		w.engines += residentBytes(b, pid)
	}
	for _, pid := range workersOf(b, "codec") {
		w.codecs += residentBytes(b, pid)
	}
	return w
}

// workersOf returns the speech workers of the given modes that this process has started.
func workersOf(b *testing.B, modes ...string) (pids []int) {
	b.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(b, err)
	for _, list := range lists {
		children, _ := os.ReadFile(list) // empty if the thread has ended
		for child := range strings.FieldsSeq(string(children)) {
			line, _ := os.ReadFile(filepath.Join("/proc", child, "cmdline"))
			arguments := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
			if arguments[0] == speechworker.Path() && slices.Contains(modes, arguments[len(arguments)-1]) {
				pid, err := strconv.Atoi(child)
				require.NoError(b, err)
				pids = append(pids, pid)
			}
		}
	}
	require.NotEmpty(b, pids)
	return pids
}

// residentBytes returns the RSS of a process (proc_pid_statm(5)).
func residentBytes(b *testing.B, pid int) int64 {
	b.Helper()
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	require.NoError(b, err)
	pages, err := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	require.NoError(b, err)
	return pages * int64(os.Getpagesize())
}

func (w weight) report(b *testing.B, before weight, streams int) {
	for unit, bytes := range map[string]int64{
		"heap-B/stream":        w.heapAndStacks - before.heapAndStacks,
		"RSS-B/stream":         w.resident - before.resident,
		"engines-RSS-B/stream": w.engines - before.engines,
		"codecs-RSS-B/stream":  w.codecs - before.codecs,
	} {
		b.ReportMetric(float64(bytes)/float64(streams), unit)
	}
}
