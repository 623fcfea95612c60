package esdb_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

// network connects a client to a node: toxiproxy, which fails on demand, and a gate at the node.
type network struct {
	t     *testing.T
	dir   string
	node  *eventnode.Node
	gate  *gate
	proxy *toxiproxy.Proxy
}

func startNetwork(t *testing.T, identity *tls.Config) *network {
	dir := nodetest.Dir(t)
	n := &network{t: t, dir: dir, gate: &gate{t: t, address: "127.0.0.1:0", node: nodetest.Socket(dir),
		identity: identity}}
	n.up()
	t.Cleanup(func() {
		if n.node != nil {
			n.down()
		}
	})
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	n.proxy = toxiproxy.NewProxy(server, "network", "127.0.0.1:0", n.gate.address)
	require.NoError(t, n.proxy.Start())
	t.Cleanup(n.proxy.Stop)
	return n
}

// address returns the connection string of the node, without TLS.
func (n *network) address() string { return "esdb://" + n.proxy.Listen + "?tls=false" }

// direct returns a client that bypasses the network.
func (n *network) direct() *esdb.Client {
	return open(n.t, esdb.Config{Socket: nodetest.Socket(n.dir)})
}

// up starts the node with its previous log; down ends its process, as far as a client can see.
func (n *network) up() {
	n.node = nodetest.Open(n.t, n.dir)
	n.gate.open()
}

func (n *network) down() {
	n.gate.close()
	require.NoError(n.t, n.node.Close())
	n.node = nil
}

// cut closes the connections and refuses new ones until join.
func (n *network) cut()  { n.proxy.Stop() }
func (n *network) join() { require.NoError(n.t, n.proxy.Start()) }

// afflict adds a toxic to the given directions, by default both. recover removes all.
func (n *network) afflict(kind, attributes string, directions ...string) {
	if len(directions) == 0 {
		directions = []string{"upstream", "downstream"}
	}
	for _, direction := range directions {
		toxic := fmt.Sprintf(`{"name": %q, "type": %q, "stream": %q, "attributes": %s}`, direction, kind, direction,
			attributes)
		_, err := n.proxy.Toxics.AddToxicJson(strings.NewReader(toxic))
		require.NoError(n.t, err)
	}
}

func (n *network) recover() { n.proxy.Toxics.ResetToxics(context.Background()) }

// gate is the node's TCP address. It terminates TLS if it has an identity, and counts its connections.
type gate struct {
	t        *testing.T
	address  string // of the listener, the same each time it opens
	node     string // socket
	identity *tls.Config

	listener net.Listener
	running  sync.WaitGroup
	mu       sync.Mutex
	links    map[*link]bool
}

// link is a connection through the gate.
type link struct {
	client, node net.Conn
	forgotten    atomic.Bool
}

func (g *gate) open() {
	listener, err := net.Listen("tcp", g.address)
	require.NoError(g.t, err)
	g.address = listener.Addr().String()
	if g.identity != nil {
		listener = tls.NewListener(listener, g.identity)
	}
	g.listener, g.links = listener, map[*link]bool{}
	g.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			g.connect(client)
		}
	})
}

func (g *gate) connect(client net.Conn) {
	node, err := net.Dial("unix", g.node)
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{client: client, node: node}
	g.mu.Lock()
	g.links[l] = true
	g.mu.Unlock()
	g.running.Go(func() { g.pass(l, l.node, l.client) })
	g.running.Go(func() { g.pass(l, l.client, l.node) })
}

func (g *gate) pass(l *link, to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		size, err := from.Read(buffer)
		if err == nil && !l.forgotten.Load() {
			_, err = to.Write(buffer[:size])
		}
		if err != nil {
			break
		}
	}
	l.close()
	g.mu.Lock()
	delete(g.links, l)
	g.mu.Unlock()
}

func (l *link) close() { _, _ = l.client.Close(), l.node.Close() }

func (g *gate) close() {
	_ = g.listener.Close()
	g.sever()
	g.running.Wait()
}

// sever closes the current connections. New ones work as usual.
func (g *gate) sever() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for l := range g.links {
		l.close()
	}
}

// forget abandons the current connections without closing them. New ones work as usual.
func (g *gate) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for l := range g.links {
		l.forgotten.Store(true)
	}
}

func (g *gate) connections() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.links)
}

// cluster answers gossip: the first address is the leader's, the others are followers'.
type cluster struct {
	gossip.UnimplementedGossipServer
	address string
	members atomic.Pointer[[]string]
}

func startCluster(t *testing.T, identity *tls.Config, members ...string) *cluster {
	var options []grpc.ServerOption
	if identity != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(identity)))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cluster{address: listener.Addr().String()}
	c.name(members...)
	server := grpc.NewServer(options...)
	gossip.RegisterGossipServer(server, c)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	return c
}

// name sets the members that are reported from now on.
func (c *cluster) name(members ...string) { c.members.Store(&members) }

func (c *cluster) Read(context.Context, *shared.Empty) (*gossip.ClusterInfo, error) {
	info := &gossip.ClusterInfo{}
	for i, address := range *c.members.Load() {
		endpoint, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			return nil, err
		}
		member := &gossip.MemberInfo{
			State:        gossip.MemberInfo_Follower,
			IsAlive:      true,
			HttpEndPoint: &gossip.EndPoint{Address: endpoint.IP.String(), Port: uint32(endpoint.Port)},
		}
		if i == 0 {
			member.State = gossip.MemberInfo_Leader
		}
		info.Members = append(info.Members, member)
	}
	return info, nil
}

// newIdentity creates a certificate for 127.0.0.1, and the file with which a client trusts it.
func newIdentity(t *testing.T) (identity *tls.Config, caFile string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "event store"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		NextProtos:   []string{"h2"},
	}, caFile
}

// deadAddress returns an address that refuses connections.
func deadAddress(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}
