package esdb_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventlog/logtest"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

// member is a node of a cluster with its store in the node at a socket. As a follower it redirects calls that require
// the leader, as EventStoreDB does (ClusterVNodeController.HandleAsNonLeader, RpcExceptions.LeaderInfo).
type member struct {
	address string
	store   *grpc.ClientConn
	leader  atomic.Pointer[string] // nil if it is the leader
	ready   atomic.Bool
	refused atomic.Int64
}

func startMember(t *testing.T, socket string) *member {
	store, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(passing{})))
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	m := &member{address: listener.Addr().String(), store: store}
	m.ready.Store(true)
	server := grpc.NewServer(grpc.ForceServerCodecV2(passing{}), grpc.UnknownServiceHandler(m.serve),
		grpc.WaitForHandlers(true))
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
		require.NoError(t, store.Close())
	})
	return m
}

func (m *member) follow(leader string) { m.leader.Store(&leader) }
func (m *member) lead()                { m.leader.Store(nil) }

func (m *member) serve(_ any, client grpc.ServerStream) error {
	if method, _ := grpc.MethodFromServerStream(client); !m.ready.Load() && strings.Contains(method, "Streams") {
		return status.Error(codes.Unavailable, "Server Is Not Ready")
	}
	leader := m.leader.Load()
	asked, _ := metadata.FromIncomingContext(client.Context())
	if leader == nil || len(asked.Get("requires-leader")) == 0 {
		return m.pass(client)
	}
	for message := []byte(nil); client.RecvMsg(&message) == nil; {
		continue // the library turns a response that arrives before it has sent everything into an EOF
	}
	m.refused.Add(1)
	host, port, err := net.SplitHostPort(*leader)
	if err != nil {
		return err
	}
	client.SetTrailer(metadata.Pairs("exception", "not-leader", "leader-endpoint-host", host, "leader-endpoint-port",
		port))
	return status.Error(codes.NotFound, "Leader info available")
}

func (m *member) pass(client grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(client)
	ctx, cancel := context.WithCancel(client.Context())
	defer cancel()
	store, err := m.store.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	go func() {
		for message := []byte(nil); client.RecvMsg(&message) == nil; {
			if store.SendMsg(&message) != nil {
				return
			}
		}
		_ = store.CloseSend()
	}()
	for {
		var message []byte
		if err := store.RecvMsg(&message); err != nil {
			client.SetTrailer(store.Trailer())
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := client.SendMsg(&message); err != nil {
			return err
		}
	}
}

// passing is a codec that passes encoded messages through.
type passing struct{}

func (passing) Name() string { return "proto" }

func (passing) Marshal(message any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*message.(*[]byte))}, nil
}

func (passing) Unmarshal(data mem.BufferSlice, message any) error {
	*message.(*[]byte) = data.Materialize()
	return nil
}

func TestTheLogFollowsTheLeader(t *testing.T) {
	tests := []struct {
		name    string
		connect func(t *testing.T, first, second *member) (connection string, elected func())
	}{
		{"that a node names", func(_ *testing.T, first, _ *member) (string, func()) {
			return "esdb://" + first.address + "?tls=false", func() {}
		}},
		{"that gossip names", func(t *testing.T, first, second *member) (string, func()) {
			seed := startCluster(t, nil, first.address, second.address)
			return "esdb+discover://" + seed.address + "?tls=false", func() { seed.name(second.address, first.address) }
		}},
		{"that gossip does not know yet", func(t *testing.T, first, second *member) (string, func()) {
			seed := startCluster(t, nil, first.address, second.address)
			return "esdb+discover://" + seed.address + "?tls=false", func() {}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// given a cluster, writers and a subscription
			socket := nodetest.Start(t)
			first, second := startMember(t, socket), startMember(t, socket)
			second.follow(first.address)
			connection, elected := test.connect(t, first, second)
			log := open(t, esdb.Config{ConnectionString: connection, AttemptTimeout: patience, BeatTimeout: patience,
				MaxBackOff: 50 * time.Millisecond}) // no timeouts, because nothing hangs here
			ctx := within(t, patience)
			reader := logtest.NewReader(log.Subscribe(ctx, eventlog.Start()), eventlog.Start(), isLoad)
			load := startLoad(ctx, t, log)
			load.proceed(ctx)

			// when another node is elected, and no connection breaks
			second.lead()
			first.follow(second.address)
			elected()

			// then everything continues there
			load.proceed(ctx)
			require.Positive(t, first.refused.Load())
			require.Zero(t, second.refused.Load())
			written := load.stop()
			delivered := deliveredBy(t, reader, written)
			for stream, ids := range written {
				requireSame(t, ids, streamIDs(t, log, stream))
				requireSame(t, ids, delivered[stream])
			}
		})
	}
}

// The named leader may not serve. Then another one is found as soon as there is one.
func TestALeaderThatDoesNotServeIsNotWaitedFor(t *testing.T) {
	// given a cluster without a known leader
	socket := nodetest.Start(t)
	first, second := startMember(t, socket), startMember(t, socket)
	resigned := startMember(t, socket)
	resigned.ready.Store(false)
	first.follow(resigned.address)
	second.follow(resigned.address)
	seed := startCluster(t, nil, first.address, second.address)
	log := impatient(t, "esdb+discover://"+seed.address+"?tls=false")

	// then calls end, with and without a deadline
	requireCallsEnd(t, log)
	requireOutage(t, log)

	// when another node is elected, they are served
	first.follow(second.address)
	second.lead()
	requireService(within(t, patience), t, log)
}

// Nodes other than the leader may be behind: the head could step back, and revocations come late.
func TestNoOtherNodeThanTheLeaderIsPreferred(t *testing.T) {
	for _, preference := range []string{"follower", "random", "readOnlyReplica"} {
		_, err := esdb.Open(esdb.Config{ConnectionString: "esdb://127.0.0.1:2113?tls=false&nodePreference=" + preference})
		require.ErrorContains(t, err, "nodePreference")
	}
	open(t, esdb.Config{ConnectionString: "esdb://127.0.0.1:2113?tls=false&nodePreference=leader"})
}
