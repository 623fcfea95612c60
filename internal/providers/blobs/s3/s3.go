// Package s3 stores blobs as objects of a bucket in S3, or in another store that speaks its protocol. The key of an
// object is <prefix>/<folder>/<address>.
//
// An object appears only when its last byte is stored: small ones are one request, larger ones an upload in parts,
// which is visible once it is completed. Objects are not renamed or copied.
package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sync/semaphore"

	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/circuit"
)

// Config configures a Store. Location, Folder and Logger are required.
type Config struct {
	Location Location // of ParseURL
	Folder   string   // below the prefix, for objects that must not be mixed with others' blobs
	// AccessKey and SecretKey are either both set, or found where AWS's own tools find them: in the environment, in
	// ~/.aws/credentials, or from the role of the machine.
	AccessKey, SecretKey string
	Silence              time.Duration    // after which a connection fails that transfers no byte; 10 s
	Pause                time.Duration    // without requests after an outage was noticed; 5 s
	Now                  func() time.Time // the clock for the age of uploads
	Logger               *slog.Logger
}

const (
	// attempts is the maximum number of attempts of one request. Only requests that may be repeated are.
	attempts = 3
	// checkTimeout is the time limit of the check at the start.
	checkTimeout = 10 * time.Second
	// metadataTimeout bounds each request for the credentials of the machine's role.
	metadataTimeout  = 5 * time.Second
	dialTimeout      = 5 * time.Second
	handshakeTimeout = 5 * time.Second
	// idleConnections is the idle time of connections. It is shorter than any known server's, so that few requests use a
	// closing connection.
	idleConnections = 20 * time.Second
	idlePerHost     = 64
)

// Store implements blobs.Store.
type Store struct {
	client    *minio.Client
	core      minio.Core // the same client, request by request
	bucket    string
	root      string // of all keys, with a slash at its end
	transport *http.Transport
	breaker   *circuit.Breaker
	memory    *semaphore.Weighted // bytes that uploads hold
	now       func() time.Time
	log       *slog.Logger
}

// Open returns a store, after a check that the bucket exists and may be listed. A store that does not answer is no
// error, because it may answer later. The caller must close it.
func Open(ctx context.Context, config Config) (*Store, error) {
	if (config.AccessKey == "") != (config.SecretKey == "") {
		return nil, errors.New("opening the blobs in S3: both keys or none are needed")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	transport := newTransport(cmp.Or(config.Silence, 10*time.Second))
	core, err := minio.NewCore(config.Location.Host, &minio.Options{
		Creds: config.credentials(), Secure: !config.Location.Plain, Transport: transport, Region: config.Location.Region,
		MaxRetries: attempts,
	})
	if err != nil {
		return nil, errors.New("opening the blobs in S3: the endpoint is invalid")
	}
	s := &Store{
		client: core.Client, core: *core, bucket: config.Location.Bucket,
		root:      path.Join(config.Location.Prefix, config.Folder) + "/",
		transport: transport, breaker: circuit.New("the blob store", config.Pause, config.Logger),
		memory: semaphore.NewWeighted(uploadMemory),
		now:    config.Now, log: config.Logger,
	}
	if err := s.check(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (c Config) credentials() *credentials.Credentials {
	if c.AccessKey != "" {
		return credentials.NewStaticV4(c.AccessKey, c.SecretKey, "")
	}
	return credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{},
		&credentials.IAM{Client: &http.Client{Timeout: metadataTimeout}},
	})
}

func newTransport(silence time.Duration) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return quietConn{conn, silence}, nil
		},
		TLSHandshakeTimeout: handshakeTimeout, MaxIdleConnsPerHost: idlePerHost, IdleConnTimeout: idleConnections,
		DisableCompression: true, // a blob is stored as it is
	}
}

// quietConn fails when it has transferred no byte in either direction for a while. A read that waits for an answer does
// not fail while the request is being sent.
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

// check lists a single object, because a refused list names the reason, unlike a refused HEAD of the bucket.
func (s *Store) check(ctx context.Context) error {
	brief, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var first error
	for object := range s.client.ListObjectsIter(brief, s.bucket, minio.ListObjectsOptions{Prefix: s.root, MaxKeys: 1}) {
		first = object.Err
		break
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("opening the blobs in S3: %w", ctx.Err())
	case first == nil && brief.Err() == nil:
		return nil
	case isRefused(first):
		return fmt.Errorf("the bucket %s cannot be used: %s", s.bucket, reason(first))
	}
	s.log.WarnContext(ctx,
		"the blob store does not answer; recitald goes on, clips cannot be saved or played until it does",
		"reason", reason(first))
	return nil
}

// Close ends idle connections.
func (s *Store) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// key returns the key of an object. It is called only with checked addresses.
func (s *Store) key(address blobs.Address) string { return s.root + string(address) }

// address returns the address of the blob with a key, or "" for other objects.
func (s *Store) address(key string) blobs.Address {
	address := blobs.Address(strings.TrimPrefix(key, s.root))
	if !strings.HasPrefix(key, s.root) || address.Check() != nil {
		return ""
	}
	return address
}

// ask sends a request, unless there is an outage. The error that it returns is the context's, blobs.ErrNotFound, one
// with blobs.ErrSource, or has the code domain.Unavailable and quotes nothing of the store but its error code.
func (s *Store) ask(ctx context.Context, doing string, request func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	report, err := s.breaker.Allow()
	if err != nil {
		return fmt.Errorf("%s: %w: it is left alone after failures", doing, blobs.ErrUnavailable)
	}
	err = request(ctx)
	switch ended := ctx.Err(); {
	case err == nil:
		report(nil)
		return nil
	case ended != nil:
		report(ended)
		return fmt.Errorf("%s: %w", doing, ended)
	case errors.Is(err, blobs.ErrSource):
		report(nil)
		return err
	case minio.ToErrorResponse(err).Code == minio.NoSuchKey:
		report(nil)
		return fmt.Errorf("%s: %w", doing, blobs.ErrNotFound)
	case isRefused(err):
		report(nil) // it answers
	default:
		report(err)
	}
	return s.unavailable(ctx, doing, err)
}

func (s *Store) unavailable(ctx context.Context, doing string, err error) error {
	s.log.WarnContext(ctx, "the blob store failed", "step", doing, "reason", reason(err))
	return fmt.Errorf("%s: %w: %s", doing, blobs.ErrUnavailable, reason(err))
}

// isRefused reports whether the store has answered with a permanent refusal.
func isRefused(err error) bool {
	status := minio.ToErrorResponse(err).StatusCode
	return status >= 300 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests
}

// reason returns the reason of a failed request, for operators. It quotes neither the request's URL nor the body of the
// answer.
func reason(err error) string {
	if answer, ok := errors.AsType[minio.ErrorResponse](err); ok {
		return fmt.Sprintf("%s (%d)", answer.Code, answer.StatusCode)
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if failed, ok := errors.AsType[net.Error](err); ok && failed.Timeout() {
		return "no answer in time"
	}
	return fmt.Sprint(err)
}
