package eventnode_test

import (
	"bufio"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

// childDir makes the test binary run a node on that folder.
const childDir = "EVENTNODE_TEST_DIR"

// childReady is printed by a node process when it serves.
const childReady = "ready"

// runChild serves until it is killed.
func runChild(dir string) int {
	node, err := eventnode.Open(eventnode.Config{
		Dir:    filepath.Join(dir, "log"),
		Socket: nodetest.Socket(dir),
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(childReady)
	<-node.Done()
	return 1
}

func startChild(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childDir+"="+dir)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err, "the node process did not start")
	require.Equal(t, childReady+"\n", line)
	return command
}

// crashWriter appends to its own stream at exact revisions, and records the acknowledged appends.
type crashWriter struct {
	stream       string
	acknowledged []uuid.UUID
	doubtful     []esdb.EventData // the append that was interrupted
}

// run appends until an append fails, which happens when the node is killed.
func (w *crashWriter) run(t *testing.T, client *esdb.Client, progress chan<- struct{}) {
	for {
		var expected esdb.ExpectedRevision = esdb.NoStream{}
		if len(w.acknowledged) > 0 {
			expected = esdb.Revision(uint64(len(w.acknowledged) - 1))
		}
		list := w.doubtful
		if list == nil {
			list = numbered(1 + rand.IntN(3))
		}
		w.doubtful = list
		if _, err := tryAppend(t, client, w.stream, expected, list...); err != nil {
			return
		}
		w.doubtful = nil
		for _, e := range list {
			w.acknowledged = append(w.acknowledged, e.EventID)
		}
		select {
		case progress <- struct{}{}:
		default:
		}
	}
}

// The node is repeatedly killed during appends. After each restart every acknowledged append exists, interrupted ones
// are complete or absent, revisions have no gap, and the identical append may be repeated.
func TestKill(t *testing.T) {
	dir := nodetest.Dir(t)
	writers := make([]*crashWriter, 6)
	for i := range writers {
		writers[i] = &crashWriter{stream: fmt.Sprintf("writer-%d", i)}
	}
	for range 5 {
		killOnce(t, dir, writers)
		checkAfterKill(t, dir, writers)
	}
	for _, w := range writers {
		require.NotEmpty(t, w.acknowledged)
	}
}

func killOnce(t *testing.T, dir string, writers []*crashWriter) {
	t.Helper()
	child := startChild(t, dir)
	defer func() { _ = child.Wait() }()
	defer func() { _ = child.Process.Kill() }()

	progress := make(chan struct{})
	var running sync.WaitGroup
	for _, w := range writers {
		// One client each: the official client's own retry may hang callers that share it (notes on v4.2.0).
		own := nodetest.Client(t, nodetest.Socket(dir))
		running.Go(func() { w.run(t, own, progress) })
	}
	for range 30 + rand.IntN(100) {
		select {
		case <-progress:
		case <-time.After(patience):
			t.Fatal("no append succeeds")
		}
	}
	require.NoError(t, child.Process.Kill())
	running.Wait()
}

func checkAfterKill(t *testing.T, dir string, writers []*crashWriter) {
	t.Helper()
	node := nodetest.Open(t, dir)
	defer func() { require.NoError(t, node.Close()) }()
	client := nodetest.Client(t, nodetest.Socket(dir))
	inAll := map[string]int{}
	for _, resolved := range readAll(t, client, esdb.ReadAllOptions{}, everything) {
		require.Equal(t, uint64(inAll[resolved.Event.StreamID]), resolved.Event.EventNumber)
		inAll[resolved.Event.StreamID]++
	}
	for _, w := range writers {
		if len(w.acknowledged) == 0 {
			continue
		}
		read, err := readStream(t, client, w.stream, esdb.ReadStreamOptions{}, everything)
		require.NoError(t, err)
		require.Len(t, read, inAll[w.stream])
		extra := len(read) - len(w.acknowledged)
		require.True(t, extra == 0 || extra == len(w.doubtful), "%d events too many, the append had %d", extra,
			len(w.doubtful))
		for i, id := range w.acknowledged {
			require.Equal(t, id, read[i].Event.EventID)
			require.Equal(t, uint64(i), read[i].Event.EventNumber)
		}
	}
}
