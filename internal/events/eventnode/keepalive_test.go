package eventnode_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

// A connection without calls survives pings, which the official client sends every 10 s: with gRPC's default policy
// the third one would end it. The pings here are much faster, about as fast as the node allows.
func TestIdleConnectionOutlivesPings(t *testing.T) {
	const pings, interval = 6, 300 * time.Millisecond
	conn, err := net.Dial("unix", nodetest.Start(t))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(conn, http2.ClientPreface)
	require.NoError(t, err)
	framer := http2.NewFramer(conn, conn)
	require.NoError(t, framer.WriteSettings())

	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for i := range pings {
		<-ticker.C
		require.NoError(t, framer.WritePing(false, [8]byte{byte(i)}))
		for answered := false; !answered; {
			frame, err := framer.ReadFrame()
			require.NoError(t, err, "ping %d", i)
			switch frame := frame.(type) {
			case *http2.PingFrame:
				answered = frame.IsAck()
			case *http2.GoAwayFrame:
				t.Fatalf("the node ends the connection after %d pings: %s", i, frame.DebugData())
			case *http2.SettingsFrame:
				if !frame.IsAck() {
					require.NoError(t, framer.WriteSettingsAck())
				}
			}
		}
	}
}
