package netconn

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// poor is a listener that sometimes runs out of files.
type poor struct {
	net.Listener
	short int
}

func (p *poor) Accept() (net.Conn, error) {
	if p.short > 0 {
		p.short--
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return p.Listener.Accept()
}

// When the process runs out of files, the quietest connections are closed, and the server continues.
func TestAcceptSurvivesALackOfFiles(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	inner := &poor{Listener: ln}
	l := Listen(inner, Limits{
		Connections: 10, AddressConnections: 10, Grace: time.Second, Longest: time.Hour, WriteTimeout: time.Second, Rate: 1,
	})
	defer l.Close()
	accept := func() (client, server net.Conn) {
		client, err := net.Dial("tcp", ln.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { client.Close() })
		server, err = l.Accept()
		require.NoError(t, err)
		t.Cleanup(func() { server.Close() })
		return client, server
	}
	silent, _ := accept()
	inner.short = 3
	accept()
	require.NoError(t, silent.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = silent.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it was closed")
	require.Equal(t, 1, l.Open())
}

// A body has a grace period, and then the time that its received bytes take at the minimum rate.
func TestABodyMustArriveAtTheMinimumRate(t *testing.T) {
	begun := time.Now()
	limits := Limits{Grace: 15 * time.Second, Longest: time.Hour, Rate: 32 << 10}
	for bytes, seconds := range map[int]int{0: 15, 100: 15, 32 << 10: 16, 10 << 20: 15 + 320, 1 << 30: 3600} {
		end := limits.bodyEnd(&pace{begun: begun, bytes: bytes})
		require.Equal(t, seconds, int(end.Sub(begun)/time.Second), bytes)
	}
}

// A peer that reads at four times the minimum rate is served, although the kernel wakes the writer only when a large
// part of a full buffer was read. A peer that does not read is not.
func TestASlowPeerIsServedAndAStalledOneIsNot(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads slowly for ten seconds")
	}
	t.Parallel()
	const timeout, size = 2 * time.Second, 12 << 20
	for name, slowly := range map[string]func(client net.Conn){
		"slow": func(client net.Conn) {
			const each = 4 * writePiece / 8
			for range 8 * 5 {
				_, err := io.CopyN(io.Discard, client, each)
				require.NoError(t, err)
				time.Sleep(timeout / 8)
			}
			_, err := io.CopyN(io.Discard, client, size-8*5*each)
			require.NoError(t, err)
		},
		"stalled": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			l := Listen(ln, Limits{
				Connections: 10, AddressConnections: 10, Grace: time.Second, Longest: time.Hour, WriteTimeout: timeout, Rate: 8192,
			})
			defer l.Close()
			client, err := net.Dial("tcp", ln.Addr().String())
			require.NoError(t, err)
			defer client.Close()
			server, err := l.Accept()
			require.NoError(t, err)
			defer server.Close()
			written := make(chan error, 1)
			go func() {
				_, err := server.Write(make([]byte, size))
				written <- errors.Join(err, server.Close())
			}()
			if slowly == nil {
				require.ErrorIs(t, <-written, os.ErrDeadlineExceeded)
				return
			}
			slowly(client)
			require.NoError(t, <-written)
		})
	}
}
