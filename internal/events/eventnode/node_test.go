package eventnode_test

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

func TestRestartKeepsEverything(t *testing.T) {
	dir := nodetest.Dir(t)
	node := nodetest.Open(t, dir)
	client := nodetest.Client(t, nodetest.Socket(dir))
	known := events("a", "b")
	first := appendTo(t, client, "kept", esdb.NoStream{}, known...)
	appendTo(t, client, "kept", esdb.Any{}, event("c"))
	before := readAll(t, client, esdb.ReadAllOptions{}, everything)
	require.NoError(t, client.Close())
	require.NoError(t, node.Close())

	node = nodetest.Open(t, dir)
	defer func() { require.NoError(t, node.Close()) }()
	client = nodetest.Client(t, nodetest.Socket(dir))

	require.Equal(t, before, readAll(t, client, esdb.ReadAllOptions{}, everything))
	// The same append again is a repeat at an exact revision. With Any it is new: recent ids are kept in memory only.
	again := appendTo(t, client, "kept", esdb.NoStream{}, known...)
	require.Equal(t, first, again)
	_, err := tryAppend(t, client, "kept", esdb.NoStream{}, event("d"))
	requireCode(t, esdb.ErrorCodeWrongExpectedVersion, err)
	next := appendTo(t, client, "kept", esdb.Revision(2), event("d"))
	require.Equal(t, uint64(3), next.NextExpectedVersion)
	require.Greater(t, next.CommitPosition, before[2].Event.Position.Commit)
}

func TestCloseEndsSubscriptions(t *testing.T) {
	dir := nodetest.Dir(t)
	node := nodetest.Open(t, dir)
	client := nodetest.Client(t, nodetest.Socket(dir))
	all := subscribeAll(t, client, esdb.SubscribeToAllOptions{From: esdb.Start{}})
	stream := subscribeStream(t, client, "a", esdb.Start{})
	all.expect("caught up")
	stream.expect("caught up")

	require.NoError(t, node.Close())

	all.expect("dropped")
	stream.expect("dropped")
	<-node.Done()
	require.NoError(t, node.Err())
	require.NoError(t, node.Close(), "a second Close does nothing")
	require.NoFileExists(t, nodetest.Socket(dir))
}

// Close must not wait forever for a subscriber that does not read.
func TestCloseWithStalledSubscriber(t *testing.T) {
	dir := nodetest.Dir(t)
	node := nodetest.Open(t, dir)
	client := nodetest.Client(t, nodetest.Socket(dir))
	for range 20 {
		e := event("big")
		e.Data = make([]byte, 512<<10)
		appendTo(t, client, "big", esdb.Any{}, e)
	}
	subscription, err := client.SubscribeToAll(testContext(t), esdb.SubscribeToAllOptions{From: esdb.Start{}})
	require.NoError(t, err)
	defer func() { _ = subscription.Close() }()

	closed := make(chan error, 1)
	go func() { closed <- node.Close() }()

	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(patience):
		t.Fatal("Close hangs")
	}
}

// Appends that race with Close are either acknowledged and kept, or refused.
func TestCloseDuringAppends(t *testing.T) {
	dir := nodetest.Dir(t)
	node := nodetest.Open(t, dir)
	client := nodetest.Client(t, nodetest.Socket(dir))
	acknowledged := make(chan int, 1)
	started := make(chan struct{})
	go func() {
		for count := 0; ; count++ {
			if count == 20 {
				close(started)
			}
			_, err := client.AppendToStream(testContext(t), "race", esdb.AppendToStreamOptions{ExpectedRevision: esdb.Any{}},
				event("x"))
			if err != nil {
				acknowledged <- count
				return
			}
		}
	}()
	<-started
	require.NoError(t, node.Close())
	count := <-acknowledged

	node = nodetest.Open(t, dir)
	defer func() { require.NoError(t, node.Close()) }()
	read, err := readStream(t, nodetest.Client(t, nodetest.Socket(dir)), "race", esdb.ReadStreamOptions{}, everything)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(read), count)
}

func TestOpenRefuses(t *testing.T) {
	dir := nodetest.Dir(t)
	taken := nodetest.StartIn(t, dir)
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	free := filepath.Join(dir, "free")
	cases := []struct {
		name   string
		config eventnode.Config
		want   string
	}{
		{"no socket", eventnode.Config{Dir: free}, "needs a socket path"},
		{"a long socket path", eventnode.Config{Dir: free, Socket: filepath.Join(dir, strings.Repeat("x", 107))},
			"at most 107"},
		{"a socket that is served", eventnode.Config{Dir: free, Socket: taken}, "another process serves"},
		{"a socket path that is a file", eventnode.Config{Dir: free, Socket: file}, "is not a socket"},
		{"no folder", eventnode.Config{Socket: filepath.Join(dir, "s1")}, "needs a data folder"},
		{"a folder that is used", eventnode.Config{Dir: filepath.Join(dir, "log"), Socket: filepath.Join(dir, "s2")},
			"is another process using it?"},
		{"all addresses", eventnode.Config{Dir: free, Socket: filepath.Join(dir, "s3"), Address: ":0"}, "loopback"},
		{"a network address", eventnode.Config{Dir: free, Socket: filepath.Join(dir, "s4"), Address: "192.0.2.1:0"},
			"loopback"},
		{"no port", eventnode.Config{Dir: free, Socket: filepath.Join(dir, "s5"), Address: "127.0.0.1"}, "address"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.config.Logger = slog.New(slog.DiscardHandler)
			_, err := eventnode.Open(c.config)
			require.ErrorContains(t, err, c.want)
			require.NoDirExists(t, free)
		})
	}
}

func TestSocketIsPrivateAndDeadOneIsReplaced(t *testing.T) {
	dir := nodetest.Dir(t)
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: nodetest.Socket(dir), Net: "unix"})
	require.NoError(t, err)
	dead.SetUnlinkOnClose(false)
	require.NoError(t, dead.Close())

	client := nodetest.Client(t, nodetest.StartIn(t, dir))

	appendTo(t, client, "a", esdb.NoStream{}, event("a"))
	socket, err := os.Stat(nodetest.Socket(dir))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), socket.Mode().Perm())
	folder, err := os.Stat(filepath.Join(dir, "log"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), folder.Mode().Perm())
}

func TestLoopbackAddress(t *testing.T) {
	dir := nodetest.Dir(t)
	node, err := eventnode.Open(eventnode.Config{
		Dir: filepath.Join(dir, "log"), Socket: nodetest.Socket(dir), Address: "127.0.0.1:0",
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Close()) }()
	configuration, err := esdb.ParseConnectionString("esdb://" + node.Addr().String() + "?tls=false")
	require.NoError(t, err)
	configuration.Logger = esdb.NoopLogging()
	tcp, err := esdb.NewClient(configuration)
	require.NoError(t, err)
	defer func() { require.NoError(t, tcp.Close()) }()

	appendTo(t, tcp, "a", esdb.NoStream{}, event("over tcp"))

	unix := nodetest.Client(t, nodetest.Socket(dir))
	require.Equal(t, []string{"over tcp"}, kinds(readAll(t, unix, esdb.ReadAllOptions{}, everything)))
}

func TestServerVersion(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	version, err := client.GetServerVersion()
	require.NoError(t, err)
	require.Equal(t, esdb.ServerVersion{Major: 24, Minor: 6}, *version)
}
