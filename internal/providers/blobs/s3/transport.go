package s3

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	dialTimeout = 5 * time.Second
	// idleConnections is shorter than that of any server that we know, so that few requests meet a connection that is
	// closing.
	idleConnections  = 20 * time.Second
	idlePerHost      = 64
	maxHeaders       = 64 << 10
	requestTimeout   = time.Minute // of a request whose answer is no blob
	maxAnswer        = 4 << 20     // a list of a thousand objects is below 2 MiB
	handshakeTimeout = 5 * time.Second
)

// transport bounds what a store can cost that is slow, or means harm: nothing that it sends is kept without a limit,
// and every request but a download ends in requestTimeout. Downloads are bounded where they are read.
type transport struct{ *http.Transport }

func newTransport(silence time.Duration) *transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	return &transport{&http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return quietConn{conn, silence}, nil
		},
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: handshakeTimeout,
		MaxIdleConnsPerHost: idlePerHost, IdleConnTimeout: idleConnections, MaxResponseHeaderBytes: maxHeaders,
		DisableCompression: true, // a blob is what it is
	}}
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	a := answer{limit: time.AfterFunc(requestTimeout, cancel), cancel: cancel}
	response, err := t.Transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		a.end()
		return nil, err
	}
	response.Header.Del("Set-Cookie") // the library would collect them
	a.body = response.Body
	a.Reader = io.LimitReader(response.Body, maxAnswer)
	response.Body = a
	if request.Method == http.MethodGet && request.URL.RawQuery == "" && response.StatusCode < http.StatusMultipleChoices {
		response.Body = &download{answer: a}
	}
	return response, nil
}

// answer is the body of an answer, of which no more than maxAnswer is read, for no longer than requestTimeout.
type answer struct {
	io.Reader
	body   io.ReadCloser
	limit  *time.Timer
	cancel func()
}

func (a answer) end() {
	a.limit.Stop()
	a.cancel()
}

// Close implements io.Closer.
func (a answer) Close() error {
	defer a.end()
	return a.body.Close()
}

// download is the body of an object. It reads as empty until it is accepted, because the library reads what it does not
// like to its end, which may never come.
type download struct {
	answer
	accepted bool
}

// accept leaves the limits to whoever reads.
func (d *download) accept() {
	d.limit.Stop()
	d.accepted = true
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	if !d.accepted {
		return 0, io.EOF
	}
	return d.body.Read(p)
}

// quietConn fails once nothing was sent or received for a while, in either direction: while a request is being sent,
// its answer is waited for, too.
type quietConn struct {
	net.Conn
	silence time.Duration
}

func (c quietConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.silence)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c quietConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.silence)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
