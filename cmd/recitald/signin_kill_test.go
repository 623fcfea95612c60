package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// A first sign-in is completed by the next one when recitald is killed before any of its appends. There is one account,
// with a profile.
func TestAnInterruptedSignInIsCompletedByTheNext(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	data := dataFolder(t)
	node, err := eventnode.Open(eventnode.Config{
		Dir: filepath.Join(data, "log"), Socket: filepath.Join(data, "node.sock"), Address: "127.0.0.1:0",
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	weir := openWeir(t, node.Addr().String())
	flags := []string{
		"--engines=1", "--eventstore=esdb://" + weir.address + "?tls=false",
		"--standins-addr=127.83.73.71:18082", // a fixed address, because it is part of the issuer
	}
	first := []string{"identity-claimed", "account-opened", "account-profile-recorded", "session-opened"}
	s := start(t, data, flags...)
	for i, kind := range first {
		email := fmt.Sprintf("ada%d@example.com", i)
		p := s.person()
		back := p.comeBack(email)
		before := typesIn(t, node.Addr().String())

		// given a sign-in that has reached the append of an event
		held := weir.hold(kind)
		ended := make(chan error, 1)
		go func() {
			response, err := p.client.Get(back)
			if err == nil {
				err = response.Body.Close()
			}
			ended <- err
		}()
		select {
		case <-held:
		case err := <-ended:
			require.FailNow(t, "the sign-in ended before the append of "+kind, "%v", err)
		}
		s.kill()
		require.Error(t, <-ended)
		weir.open()
		for j, earlier := range first {
			written := 0
			if j < i {
				written = 1
			}
			require.Equal(t, before[earlier]+written, typesIn(t, node.Addr().String())[earlier], "%s when %s is held", earlier,
				kind)
		}

		// when the person signs in again, then every step was done once
		s = start(t, data, flags...)
		s.person().signIn(email)
		after := typesIn(t, node.Addr().String())
		for _, step := range first {
			require.Equal(t, before[step]+1, after[step], "%s after a kill before %s", step, kind)
		}
	}
	require.Equal(t, http.StatusOK, s.person().get(s.address+"/health_check").status)
}

// typesIn counts the events of the log by type.
func typesIn(t *testing.T, node string) map[string]int {
	t.Helper()
	client, err := esdb.Open(esdb.Config{ConnectionString: "esdb://" + node + "?tls=false"})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	types := map[string]int{}
	for delivery := range client.Subscribe(ctx, eventlog.Start()).Deliveries() {
		switch delivery.Kind {
		case eventlog.KindEvent:
			types[delivery.Event.Type]++
		case eventlog.KindCaughtUp:
			return types
		}
	}
	require.FailNow(t, "the log cannot be read")
	return nil
}

// weir is a proxy of an event node that can hold appends with a type of event.
type weir struct {
	address string
	to      *grpc.ClientConn
	held    atomic.Pointer[barrier]
}

// barrier holds appends with a type of event.
type barrier struct {
	kind    []byte
	reached chan struct{} // buffered
	opened  chan struct{}
}

func openWeir(t *testing.T, node string) *weir {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := &weir{address: ln.Addr().String()}
	g.to, err = grpc.NewClient(node, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(frames{})))
	require.NoError(t, err)
	server := grpc.NewServer(grpc.ForceServerCodec(frames{}), grpc.UnknownServiceHandler(g.pass))
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-served)
		require.NoError(t, g.to.Close())
	})
	return g
}

// hold blocks appends with a type of event until open is called. The channel receives when there is one.
func (g *weir) hold(kind string) <-chan struct{} {
	h := &barrier{kind: []byte(kind), reached: make(chan struct{}, 1), opened: make(chan struct{})}
	g.held.Store(h)
	return h.reached
}

func (g *weir) open() {
	close(g.held.Swap(nil).opened)
}

// pass forwards one call.
func (g *weir) pass(_ any, from grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(from)
	incoming, _ := metadata.FromIncomingContext(from.Context())
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(from.Context(), incoming))
	defer cancel()
	to, err := g.to.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	go func() {
		for {
			var frame []byte
			if from.RecvMsg(&frame) != nil {
				_ = to.CloseSend()
				return
			}
			if !g.admit(ctx, method, frame) {
				cancel()
				return
			}
			if to.SendMsg(&frame) != nil {
				return
			}
		}
	}()
	if header, err := to.Header(); err == nil {
		_ = from.SetHeader(header)
	}
	for {
		var frame []byte
		if err := to.RecvMsg(&frame); err != nil {
			from.SetTrailer(to.Trailer())
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := from.SendMsg(&frame); err != nil {
			return err
		}
	}
}

// admit reports whether a frame may pass. A held frame waits for open and is then dropped.
func (g *weir) admit(ctx context.Context, method string, frame []byte) bool {
	h := g.held.Load()
	if h == nil || !strings.HasSuffix(method, "Append") || !bytes.Contains(frame, h.kind) {
		return true
	}
	select {
	case h.reached <- struct{}{}:
	default:
	}
	select {
	case <-h.opened:
	case <-ctx.Done():
	}
	return false
}

// frames is a codec that forwards messages unchanged.
type frames struct{}

// Marshal implements encoding.Codec.
func (frames) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

// Unmarshal implements encoding.Codec.
func (frames) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = bytes.Clone(data)
	return nil
}

// Name implements encoding.Codec.
func (frames) Name() string { return "proto" }
