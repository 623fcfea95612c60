package main_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/standins"
	"github.com/recital-tts/recital/internal/standins/devidp"
	"github.com/recital-tts/recital/internal/standins/hostingplatform/platformtest"
)

// world is a service with all its parts and their faults.
type world struct {
	t         *testing.T
	instances []*instance
	faults    []fault
	log       func() esdb.Config     // of a client of the log
	public    string                 // the public URL of the instances, "" if each has its address
	provider  *paymentProvider       // the payment provider
	platform  *platformtest.Platform // the hosting platform
}

// instance is a recitald that is restarted after its end, at another address.
type instance struct {
	name   string
	launch func() *server

	mu  sync.Mutex
	now *server
}

func (i *instance) server() *server {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.now
}

// start starts or restarts the recitald.
func (i *instance) start() {
	s := i.launch()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.now = s
}

// stormPublicURL is the address that instances in mode prod put into replies.
const stormPublicURL = "https://recital.example"

// embeddedWorld is one recitald with its embedded parts.
func embeddedWorld(t *testing.T) *world {
	data := dataFolder(t)
	w := &world{t: t, provider: openPaymentProvider(t)}
	disk := smallDisk(t, filepath.Join(data, "eventnode"))
	hosting := w.host(t, false)
	one := &instance{name: "recitald", launch: func() *server {
		return start(t, data, w.provider.flags(append(stormFlags(), hosting...)...)...)
	}}
	one.start()
	w.instances = []*instance{one}
	w.log = func() esdb.Config { return one.server().node() }
	postmaster := func() int { return postmasterIn(data) }
	w.faults = append(ofRecitald(one), ofPostgres(postmaster)...)
	w.faults = append(w.faults, killing("Postgres", func(*rand.Rand) []int { return []int{postmaster()} }))
	w.faults = append(w.faults, disk.faults()...)
	return w
}

// sharedWorld is two instances with one event node, in a separate process behind a link, and one Postgres.
func sharedWorld(t *testing.T) *world {
	node := startStormNode(t)
	link := linkPostgres(t, pgtest.Empty(t).Config().ConnConfig)
	on := services{
		events:   "esdb://" + node.link.Listen + "?tls=false",
		postgres: link.url,
		blobs:    filepath.Join(node.folder, "blobs"),
		secrets:  sharedSecrets(),
	}
	w := &world{t: t, public: stormPublicURL, log: func() esdb.Config { return esdb.Config{ConnectionString: on.events} }}
	people := startStormProvider(t, node.folder)
	w.provider = openPaymentProvider(t)
	w.provider.secure(t)
	hosting := append(w.host(t, true), people)
	for _, name := range []string{"first recitald", "second recitald"} {
		data := newFolder(t)
		i := &instance{name: name, launch: func() *server {
			s := on.launchIn(t, data, w.provider.flags(append(stormFlags(), hosting...)...)...)
			s.awaitRunning()
			return s
		}}
		i.start()
		w.instances = append(w.instances, i)
		w.faults = append(w.faults, ofRecitald(i)...)
	}
	postmaster := postmasterOf(t, on.postgres) // nothing kills it
	w.faults = append(w.faults, ofPostgres(func() int { return postmaster })...)
	w.faults = append(w.faults, slowing(t, link.proxy, "Postgres")...)
	w.faults = append(w.faults, node.faults()...)
	w.faults = append(w.faults, node.disk.faults()...)
	return w
}

// postmasterOf returns the main process of a Postgres, which is the parent of its backends.
func postmasterOf(t *testing.T, connection string) int {
	t.Helper()
	c, err := pgx.Connect(t.Context(), connection)
	require.NoError(t, err)
	defer c.Close(t.Context())
	backend, found := readProcess(int(c.PgConn().PID()))
	require.True(t, found, "the backend is not on this machine")
	return backend.parent
}

// stormNode is an event node in a separate process, behind a link.
type stormNode struct {
	t       *testing.T
	folder  string
	address string
	link    *toxiproxy.Proxy
	disk    *tightDisk
	process *exec.Cmd
	input   io.Closer // the node ends with it
}

// These environment variables make the test binary an event node with a folder and an address.
const (
	stormNodeFolder  = "RECITAL_TEST_STORM_NODE"
	stormNodeAddress = "RECITAL_TEST_STORM_NODE_ADDR"
	stormNodeServes  = "serving\n"
)

// runStormNode serves until standard input ends.
func runStormNode(folder string) int {
	node, err := eventnode.Open(eventnode.Config{
		Dir: filepath.Join(folder, "log"), Socket: filepath.Join(folder, "node.sock"), Address: os.Getenv(stormNodeAddress),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Print(stormNodeServes)
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := node.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func startStormNode(t *testing.T) *stormNode {
	t.Helper()
	n := &stormNode{t: t, folder: newFolder(t), address: freeAddress(t)}
	n.disk = smallDisk(t, filepath.Join(n.folder, "log"))
	n.start()
	t.Cleanup(n.kill)
	n.link = newLink(t, n.address)
	return n
}

// newLink returns a link to an address, which can be made slow.
func newLink(t *testing.T, address string) *toxiproxy.Proxy {
	t.Helper()
	zerolog.SetGlobalLevel(zerolog.Disabled) // toxics ignore the proxy's logger
	link := toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), "link",
		"127.0.0.1:0", address)
	require.NoError(t, link.Start())
	t.Cleanup(link.Stop)
	return link
}

// postgresLink is a link to a Postgres that has only a unix socket.
type postgresLink struct {
	proxy *toxiproxy.Proxy
	url   string // of the database, through the proxy
}

func linkPostgres(t *testing.T, to *pgx.ConnConfig) postgresLink {
	t.Helper()
	network, socket := pgconn.NetworkAddress(to.Host, to.Port)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial(network, socket)
			if err != nil {
				_ = near.Close()
				continue
			}
			go forward(near, far)
			go forward(far, near)
		}
	}()
	proxy := newLink(t, listener.Addr().String())
	address := url.URL{Scheme: "postgres", User: url.User(to.User), Host: proxy.Listen, Path: "/" + to.Database,
		RawQuery: "sslmode=disable"}
	return postgresLink{proxy: proxy, url: address.String()}
}

// forward copies from one connection to the other until either has ended.
func forward(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}

func (n *stormNode) start() {
	n.t.Helper()
	n.process = exec.Command(os.Args[0])
	n.process.Env = append(os.Environ(), stormNodeFolder+"="+n.folder, stormNodeAddress+"="+n.address)
	n.process.Stderr = io.Discard
	var err error
	n.input, err = n.process.StdinPipe()
	require.NoError(n.t, err)
	output, err := n.process.StdoutPipe()
	require.NoError(n.t, err)
	require.NoError(n.t, n.process.Start())
	said, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(n.t, err, "the event node does not start")
	require.Equal(n.t, stormNodeServes, said)
}

func (n *stormNode) kill() {
	_ = n.process.Process.Kill()
	_ = n.process.Wait()
	_ = n.input.Close()
}

// tightDisk is a small file system, or nil if none can be mounted.
type tightDisk struct {
	t      *testing.T
	folder string
}

// stormDisk is enough for the log of a storm and the 128 MiB that the event node keeps free.
const stormDisk = "512m"

func smallDisk(t *testing.T, folder string) *tightDisk {
	t.Helper()
	require.NoError(t, os.MkdirAll(folder, 0o700))
	err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "mode=0700,size="+stormDisk)
	if errors.Is(err, syscall.EPERM) {
		t.Log("no full disk: mounting one needs root")
		return nil
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(folder, syscall.MNT_DETACH)) })
	return &tightDisk{t: t, folder: folder}
}

// fill uses up all space. empty frees it.
func (d *tightDisk) fill() {
	f, err := os.Create(filepath.Join(d.folder, "others"))
	require.NoError(d.t, err)
	defer f.Close()
	var free syscall.Statfs_t
	require.NoError(d.t, syscall.Statfs(d.folder, &free))
	for left := int64(free.Bavail) * free.Bsize; left > 4096; left /= 2 {
		_ = syscall.Fallocate(int(f.Fd()), 0, 0, sizeOf(f)+left) // the log may take some of it meanwhile
	}
}

func sizeOf(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

func (d *tightDisk) empty() { require.NoError(d.t, os.Remove(filepath.Join(d.folder, "others"))) }

// stormFlags returns the flags of every instance. Clients send wrong credentials on purpose, all from one address, so
// rates are not limited by address.
func stormFlags() []string {
	flags := []string{"--engines=2", "--codecs=2", "--longest-stream=" + stormLongestStream.String(), "--address-rate=0"}
	if library, err := neuraltest.Library(); err == nil {
		flags = append(flags, "--onnxruntime="+library)
	}
	return flags
}

// startStormProvider starts an identity provider without faults, and returns the flag for it.
func startStormProvider(t *testing.T, folder string) (flag string) {
	t.Helper()
	ln, err := standins.Listen("127.0.0.1:0")
	require.NoError(t, err)
	provider, err := devidp.New(ln, []string{"idp_1"}, strings.TrimPrefix(stormPublicURL, "https://"), "")
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- provider.Run(context.Background()) }()
	t.Cleanup(func() {
		require.NoError(t, provider.Close())
		require.NoError(t, <-ended)
	})
	secret := filepath.Join(folder, "people-secret")
	require.NoError(t, os.WriteFile(secret, []byte(provider.ClientSecret()), 0o600))
	return fmt.Sprintf("--idp-1=%s %s %s", provider.Issuer("idp_1"), devidp.ClientID, secret)
}
