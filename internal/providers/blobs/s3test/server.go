// Package s3test runs a real S3 server for tests: versitygw, which keeps its objects in a folder.
package s3test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// AccessKey and SecretKey belong to the only user.
	AccessKey = "recital-test-access"
	SecretKey = "recital-test-secret"
	// Bucket is the bucket that every server has.
	Bucket = "recital"

	// patience bounds waits on a machine that is busy.
	patience = time.Minute
)

// Server is a running versitygw.
type Server struct {
	dir     string
	address string
	program string
	command *exec.Cmd
	ended   chan struct{}
}

// Start starts a server with an empty bucket, at the version in deploy/tools.mod, and stops it when the test has ended.
func Start(t testing.TB) *Server {
	t.Helper()
	program, err := build()
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &Server{dir: t.TempDir(), address: listener.Addr().String(), program: program}
	require.NoError(t, listener.Close())
	require.NoError(t, os.MkdirAll(s.BucketDir(), 0o700)) // a folder is a bucket
	s.Restart(t)
	t.Cleanup(s.Kill)
	return s
}

// Restart starts the server again after Kill, at the same address with the same objects.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	var output bytes.Buffer
	// Metadata is stored beside the objects, because not every temporary folder has extended attributes.
	s.command = exec.Command(s.program, "--port", s.address, "--access", AccessKey, "--secret", SecretKey, "--quiet",
		"--keep-alive",
		"posix", "--sidecar", s.folder(t, "meta"), s.folder(t, "objects"))
	s.command.Dir = s.dir
	s.command.Stdout, s.command.Stderr = &output, &output
	s.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, s.command.Start())
	s.ended = make(chan struct{})
	go func(command *exec.Cmd, ended chan struct{}) {
		_ = command.Wait() // it is killed
		close(ended)
	}(s.command, s.ended)
	if err := s.awaitAnswer(); err != nil {
		s.Kill()
		require.NoError(t, err, output.String())
	}
}

func (s *Server) folder(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(s.dir, name)
	require.NoError(t, os.MkdirAll(path, 0o700))
	return path
}

// Kill ends the server like kill -9. It has no effect if the server has ended.
func (s *Server) Kill() {
	_ = s.command.Process.Kill() // it has ended
	<-s.ended
}

// Address returns HOST:PORT.
func (s *Server) Address() string { return s.address }

// BucketDir returns the folder of the bucket's objects.
func (s *Server) BucketDir() string { return filepath.Join(s.dir, "objects", Bucket) }

// URL returns the value of RECITAL_BLOBS for a prefix in the bucket. The address is the server's, or a proxy's.
func URL(address, prefix string) string {
	return "s3://" + Bucket + "/" + prefix + "?endpoint=http://" + address + "&region=us-east-1"
}

func (s *Server) awaitAnswer() error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+"/", nil)
	if err != nil {
		return err
	}
	for {
		answer, err := client.Do(request)
		if err == nil {
			return answer.Body.Close()
		}
		select {
		case <-s.ended:
			return errors.New("versitygw has ended")
		case <-ctx.Done():
			return errors.New("versitygw does not answer")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// build returns the path of versitygw, which the go command keeps.
func build() (string, error) {
	module, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	tools := strings.TrimSuffix(strings.TrimSpace(string(module)), "go.mod") + "deploy/tools.mod"
	path, err := exec.Command("go", "tool", "-modfile="+tools, "-n", "versitygw").Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			return "", fmt.Errorf("building versitygw: %w\n%s", err, failed.Stderr)
		}
		return "", fmt.Errorf("building versitygw: %w", err)
	}
	return strings.TrimSpace(string(path)), nil
}
