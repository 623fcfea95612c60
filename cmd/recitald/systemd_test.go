package main_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/datafolder"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// systemctl start waits until recitald reports that it serves. The first start's API key is not printed to the journal,
// which others may read.
func TestSystemdWaitsUntilRequestsAreServed(t *testing.T) {
	longtest.Only(t)
	folder, err := os.MkdirTemp("", "systemd-") // a short path: that of a socket has at most 107 bytes
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(folder, "notify"), Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, systemd.Close()) })
	require.NoError(t, systemd.SetReadDeadline(time.Now().Add(patience)))
	s := &server{t: t, data: dataFolder(t), ended: make(chan struct{}), output: filepath.Join(folder, "journal"),
		log: filepath.Join(folder, "stderr")}

	// given a service with the journal as standard output
	require.NoError(t, os.WriteFile(s.output, nil, 0o600))
	var journal syscall.Stat_t
	require.NoError(t, syscall.Stat(s.output, &journal))
	t.Setenv("JOURNAL_STREAM", fmt.Sprintf("%d:%d", journal.Dev, journal.Ino))
	t.Setenv("NOTIFY_SOCKET", filepath.Join(folder, "notify"))

	// when systemd starts it
	s.launch([]string{"--http-addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0", "--standins-addr=127.0.0.1:0", "--data-dir=" +
		s.data, "--codecs=1"})
	t.Cleanup(s.kill)
	require.Equal(t, "READY=1", nextState(t, systemd))

	// then requests are served at once
	response, err := http.Get("http://" + datafolder.Find(s.data).Public + "/health_check")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)

	// and the journal has the path of the key, but not the key
	require.Contains(t, s.said(), filepath.Join(s.data, "dev-api-key"))
	require.NotContains(t, s.said(), s.secret("dev-api-key"))

	// and recitald notifies systemd of its end
	s.interrupt()
	require.Equal(t, "STOPPING=1", nextState(t, systemd))
}

func nextState(t *testing.T, systemd *net.UnixConn) string {
	t.Helper()
	text := make([]byte, 100)
	n, err := systemd.Read(text)
	require.NoError(t, err)
	return string(text[:n])
}
