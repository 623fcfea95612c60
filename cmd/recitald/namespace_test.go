package main_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// vendorHost is hard-coded in some published clients. They run in a separate network namespace, in which this name
// resolves to recitald behind TLS.
const vendorHost = "api.lmnt.com"

// namespaceFolder is an environment variable with a folder of newNamespace. If it is set, this program sets up a
// namespace and runs its arguments as the client.
const namespaceFolder = "RECITAL_NAMESPACE"

// newNamespace returns a folder with the files of a namespace. Its unix socket, which is reachable from the namespace,
// is forwarded to recitald.
func newNamespace(t *testing.T, s *server) string {
	t.Helper()
	folder := t.TempDir()
	writeCertificate(t, folder)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "hosts"), []byte("127.0.0.1 localhost "+vendorHost+"\n"), 0o644))
	listener, err := net.Listen("unix", filepath.Join(folder, "socket"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go relay(listener, "tcp", strings.TrimPrefix(s.address, "http://"))
	return folder
}

// writeCertificate writes a self-signed certificate for the vendor's host.
func writeCertificate(t *testing.T, folder string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "A test"}, DNSNames: []string{vendorHost},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, SubjectKeyId: []byte{1},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{
		"certificate.pem": {Type: "CERTIFICATE", Bytes: certificate}, "key.pem": {Type: "PRIVATE KEY", Bytes: secret},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600))
	}
}

// enter makes a command run in the namespace and trust the certificate, in all languages.
func enter(command *exec.Cmd, folder string) {
	certificate := filepath.Join(folder, "certificate.pem")
	command.Args = append([]string{os.Args[0], command.Path}, command.Args[1:]...)
	command.Path = os.Args[0]
	command.Env = append(command.Env, namespaceFolder+"="+folder, "SSL_CERT_FILE="+certificate,
		"NODE_EXTRA_CA_CERTS="+certificate)
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
}

// runInNamespace prepares the namespace and runs the client in it.
func runInNamespace(folder string, command []string) int {
	if err := prepareNamespace(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	client := exec.Command(command[0], command[1:]...)
	client.Stdout, client.Stderr = os.Stdout, os.Stderr
	if err := client.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func prepareNamespace(folder string) error {
	if err := raiseLoopback(); err != nil {
		return fmt.Errorf("raising loopback: %w", err)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making the mounts private: %w", err)
	}
	if err := syscall.Mount(filepath.Join(folder, "hosts"), "/etc/hosts", "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting the hosts file: %w", err)
	}
	certificate, err := tls.LoadX509KeyPair(filepath.Join(folder, "certificate.pem"), filepath.Join(folder, "key.pem"))
	if err != nil {
		return err
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:443", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		return err
	}
	go relay(listener, "unix", filepath.Join(folder, "socket"))
	return nil
}

func raiseLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	loopback.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback)
}

// relay forwards the listener's connections to an address until the listener is closed.
func relay(listener net.Listener, network, address string) {
	for {
		near, err := listener.Accept()
		if err != nil {
			return
		}
		go join(near, network, address)
	}
}

func join(near net.Conn, network, address string) {
	defer near.Close()
	far, err := net.Dial(network, address)
	if err != nil {
		return
	}
	hungUp := make(chan struct{})
	go func() {
		defer close(hungUp)
		_, _ = io.Copy(far, near)
		_ = far.Close()
		_, _ = io.Copy(io.Discard, near) // closing with unread bytes would lose the client's last frame
	}()
	_, _ = io.Copy(near, far)
	if half, ok := near.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	<-hungUp
}
