package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/recital-tts/recital/internal/providers/blobs"
)

const (
	// leastPace is how many bytes a second a store must at least send, after its silence, in the time that we wait for
	// it.
	leastPace = 16 << 10
	// mostCuts is how often in a row a download may be cut without having brought anything.
	mostCuts = 3
)

var (
	errSlow   = errors.New("it sends too slowly")
	errAnswer = errors.New("it sends something else than what was asked for")
)

// pace is how long a store may take for so many bytes.
type pace struct{ silence time.Duration }

func (p pace) allows(waited time.Duration, bytes int64) bool {
	return waited <= attempts*p.silence+p.silence+time.Duration(bytes)*time.Second/leastPace
}

// Open implements blobs.Store. A download that is cut goes on with another request where it was, since a blob never
// changes: stores close connections that a slow client of ours lets rest.
func (s *Store) Open(ctx context.Context, address blobs.Address, offset, length int64) (io.ReadCloser, error) {
	if err := address.Check(); err != nil {
		return nil, err
	}
	if offset < 0 || length < 0 {
		return nil, fmt.Errorf("opening a blob: there are no %d bytes from %d", length, offset)
	}
	if length == 0 {
		_, err := s.Stat(ctx, address)
		return io.NopCloser(strings.NewReader("")), err
	}
	r := &reader{store: s, ctx: ctx, key: s.key(address), offset: offset, left: length}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r, nil
}

// reader reads a range of an object.
type reader struct {
	store        *Store
	ctx          context.Context
	key          string
	offset, left int64
	body         io.ReadCloser // nil if another request is needed
	got          int64
	waited       time.Duration
	cuts         int // in a row
}

// open requests what is left.
func (r *reader) open() error {
	begun := time.Now()
	defer func() { r.waited += time.Since(begun) }()
	return r.store.ask(r.ctx, "opening a blob", func(ctx context.Context) error {
		body, left, err := r.store.get(ctx, r.key, r.offset, r.left)
		if err == nil {
			r.body, r.left = body, left
		}
		return err
	})
}

// get returns what an object holds of a range, and how much that is.
func (s *Store) get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, int64, error) {
	var options minio.GetObjectOptions
	options.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+min(length, math.MaxInt64-offset)-1))
	body, info, header, err := s.core.GetObject(ctx, s.bucket, key, options)
	if understand(err).status == http.StatusRequestedRangeNotSatisfiable {
		return io.NopCloser(strings.NewReader("")), 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	content, ok := body.(*download)
	if header.Get("Content-Range") == "" && info.Size == 0 {
		return body, 0, nil // an empty object has no ranges
	}
	var first, last, size int64
	_, err = fmt.Sscanf(header.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &size)
	if err != nil || !ok || first != offset || last != min(size-1, offset+min(length, math.MaxInt64-offset)-1) {
		_ = body.Close() // what it holds is not wanted
		return nil, 0, errAnswer
	}
	content.accept()
	return content, last - first + 1, nil
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	for {
		if err := r.ctx.Err(); err != nil {
			return 0, fmt.Errorf("reading a blob: %w", err)
		}
		if r.left == 0 {
			return 0, io.EOF
		}
		if r.body == nil {
			if err := r.open(); err != nil {
				return 0, err
			}
			continue
		}
		n, err := r.read(p[:min(int64(len(p)), r.left)])
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// read reads once. A body that is cut is given up, without an error as long as there may be another.
func (r *reader) read(p []byte) (int, error) {
	begun := time.Now()
	n, err := r.body.Read(p)
	r.waited += time.Since(begun)
	r.got, r.offset, r.left = r.got+int64(n), r.offset+int64(n), r.left-int64(n)
	if n > 0 {
		r.cuts = 0
	}
	if r.left > 0 && !r.store.pace.allows(r.waited, r.got) {
		return n, r.fail(errSlow)
	}
	if err == nil || r.left == 0 {
		return n, nil
	}
	_ = r.body.Close() // it is cut
	r.body = nil
	if r.cuts++; r.cuts > mostCuts && r.ctx.Err() == nil {
		return n, r.fail(err)
	}
	return n, nil
}

func (r *reader) fail(err error) error {
	why := understand(err)
	r.store.log.WarnContext(r.ctx, "the blob store failed", "step", "reading a blob", "reason", why.String())
	return fmt.Errorf("reading a blob: %w: %s", blobs.ErrUnavailable, why)
}

// Close implements io.Closer.
func (r *reader) Close() error {
	r.left = 0
	if r.body == nil {
		return nil
	}
	_ = r.body.Close() // nothing more is wanted of it
	return nil
}
