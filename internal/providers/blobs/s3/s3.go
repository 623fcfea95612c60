// Package s3 stores blobs as objects of a bucket in S3, or in another store that speaks its protocol. The key of an
// object is <prefix>/<folder>/<address>.
//
// An object appears when its last byte is there, and not before: small ones are one request, larger ones an upload in
// parts, which is visible once it is completed. Nothing is renamed or copied.
package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/sony/gobreaker/v2"

	"github.com/recital-tts/recital/internal/providers/blobs"
)

// Config configures a Store. Location, Folder and Logger are required.
type Config struct {
	Location Location
	Folder   string // below the prefix, for what shall not be mixed with others' blobs
	// AccessKey and SecretKey are either both set, or found where AWS's own tools find them: in the environment, in
	// ~/.aws/credentials, or from the role of the machine.
	AccessKey, SecretKey string
	Silence              time.Duration    // after which a store that neither sends nor takes a byte is given up; 10 s
	Pause                time.Duration    // for which nothing is asked after an outage was noticed; 5 s
	Now                  func() time.Time // by which uploads are old
	Logger               *slog.Logger
}

const (
	// attempts are those of one request. Only requests that may be repeated are.
	attempts       = 3
	failuresToOpen = 5
	// checkTimeout is how long the check at the start waits.
	checkTimeout = 10 * time.Second
	// metadataTimeout bounds each request for the credentials of the machine's role.
	metadataTimeout = 5 * time.Second
)

// Store implements blobs.Store.
type Store struct {
	client    *minio.Client
	core      minio.Core // the same client, request by request
	bucket    string
	root      string // of all keys, with a slash at its end
	pace      pace
	transport *transport
	breaker   *gobreaker.TwoStepCircuitBreaker[struct{}]
	now       func() time.Time
	log       *slog.Logger

	small, large slots
	aborting     sync.WaitGroup
}

// Open returns a store, after a check that the bucket is there and may be listed. A store that does not answer is no
// error: it may come later. Close must follow.
func Open(ctx context.Context, config Config) (*Store, error) {
	if config.Folder == "" || config.Logger == nil || (config.AccessKey == "") != (config.SecretKey == "") {
		return nil, errors.New("opening the blobs in S3: a folder, a logger, and both keys or none are needed")
	}
	if err := config.Location.check(); err != nil {
		return nil, err
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	silence := cmp.Or(config.Silence, 10*time.Second)
	transport := newTransport(silence)
	core, err := minio.NewCore(config.Location.Host, &minio.Options{
		Creds: config.credentials(), Secure: !config.Location.Plain, Transport: transport, Region: config.Location.Region, MaxRetries: attempts,
	})
	if err != nil {
		return nil, errors.New("opening the blobs in S3: the endpoint is not one")
	}
	s := &Store{
		client: core.Client, core: *core, bucket: config.Location.Bucket, root: path.Join(config.Location.Prefix, config.Folder) + "/",
		pace: pace{silence: silence}, transport: transport, breaker: newBreaker(config), now: config.Now, log: config.Logger,
		small: make(slots, smallUploads), large: make(slots, largeUploads),
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
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Timeout: metadataTimeout}},
	})
}

func newBreaker(config Config) *gobreaker.TwoStepCircuitBreaker[struct{}] {
	return gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        "blob store",
		MaxRequests: 1,
		Timeout:     cmp.Or(config.Pause, 5*time.Second),
		ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= failuresToOpen },
		IsExcluded:  func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			if from == gobreaker.StateClosed || to == gobreaker.StateClosed { // and not each try in between
				config.Logger.Warn("the circuit to the blob store changed", "state", to.String())
			}
		},
	})
}

// check lists a single object, because a refused list says why, which a refused look at the bucket does not.
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
	}
	why := understand(first)
	if why.refused() {
		return fmt.Errorf("the bucket %s cannot be used: %s", s.bucket, why)
	}
	s.log.WarnContext(ctx, "the blob store does not answer; recitald goes on, clips cannot be saved or played until it does", "reason", why.String())
	return nil
}

// Close ends idle connections, and waits for the last requests that clean up, which are bounded.
func (s *Store) Close() error {
	s.aborting.Wait()
	s.transport.CloseIdleConnections()
	return nil
}

// key returns the key of an object. It is called only with checked addresses.
func (s *Store) key(address blobs.Address) string { return s.root + string(address) }

// address returns the address of the blob with a key, "" for objects that are none.
func (s *Store) address(key string) blobs.Address {
	address := blobs.Address(strings.TrimPrefix(key, s.root))
	if !strings.HasPrefix(key, s.root) || address.Check() != nil {
		return ""
	}
	return address
}

// ask has the store asked, unless there is an outage. The error that it returns is the context's, blobs.ErrNotFound, or
// has the code domain.Unavailable, and holds nothing that the store said but an error code.
func (s *Store) ask(ctx context.Context, doing string, request func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	report, err := s.breaker.Allow()
	if err != nil {
		return fmt.Errorf("%s: %w: it is left alone after failures", doing, blobs.ErrUnavailable)
	}
	err = request(ctx)
	if err == nil {
		report(nil)
		return nil
	}
	if ended := ctx.Err(); ended != nil {
		report(ended)
		return fmt.Errorf("%s: %w", doing, ended)
	}
	why := understand(err)
	if why.code == minio.NoSuchKey {
		report(nil)
		return fmt.Errorf("%s: %w", doing, blobs.ErrNotFound)
	}
	if why.refused() {
		report(nil) // it answers
	} else {
		report(err)
	}
	s.log.WarnContext(ctx, "the blob store failed", "step", doing, "reason", why.String())
	return fmt.Errorf("%s: %w: %s", doing, blobs.ErrUnavailable, why)
}

// Stat implements blobs.Store.
func (s *Store) Stat(ctx context.Context, address blobs.Address) (blob blobs.Blob, err error) {
	if err := address.Check(); err != nil {
		return blobs.Blob{}, err
	}
	err = s.ask(ctx, "looking at a blob", func(ctx context.Context) error {
		info, err := s.client.StatObject(ctx, s.bucket, s.key(address), minio.StatObjectOptions{})
		if err != nil {
			return s.missing(ctx, err)
		}
		blob = blobs.Blob{Address: address, Size: info.Size, Stored: info.LastModified}
		return nil
	})
	return blob, err
}

// missing distinguishes a blob that is not there from a bucket that is not: the reply to a HEAD has no body to say
// which.
func (s *Store) missing(ctx context.Context, err error) error {
	if understand(err).code != minio.NoSuchKey {
		return err
	}
	there, failed := s.client.BucketExists(ctx, s.bucket)
	switch {
	case failed != nil:
		return failed
	case !there:
		return minio.ErrorResponse{Code: minio.NoSuchBucket, StatusCode: http.StatusNotFound}
	}
	return err
}

// Delete implements blobs.Store.
func (s *Store) Delete(ctx context.Context, address blobs.Address) error {
	if err := address.Check(); err != nil {
		return err
	}
	err := s.ask(ctx, "deleting a blob", func(ctx context.Context) error {
		return s.client.RemoveObject(ctx, s.bucket, s.key(address), minio.RemoveObjectOptions{})
	})
	if errors.Is(err, blobs.ErrNotFound) {
		return nil
	}
	return err
}
