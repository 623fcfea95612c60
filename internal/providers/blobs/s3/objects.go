package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"regexp"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/recital-tts/recital/internal/providers/blobs"
)

const (
	// uploadMemory bounds the memory of all uploads, in bytes. Others wait until their contexts end.
	uploadMemory = 64 << 20
	partSize     = 5 << 20 // the minimum of S3 for a part that is not the last

	objectsAtOnce = 1000 // of a list in memory
	// abandonedAfter is the age from which an upload cannot still be under way.
	abandonedAfter = 24 * time.Hour
	// mostCuts is the number of consecutive interruptions of a download without progress.
	mostCuts = 3
)

// Put implements blobs.Store. If the outcome is unknown, the blob may be stored, completely and without a reference to
// it.
func (s *Store) Put(ctx context.Context, address blobs.Address, r io.Reader, size int64) (blobs.Blob, error) {
	if err := address.Check(); err != nil {
		return blobs.Blob{}, err
	}
	held := min(size, partSize)
	if err := s.memory.Acquire(ctx, held); err != nil {
		return blobs.Blob{}, fmt.Errorf("waiting to store a blob: %w", err)
	}
	defer s.memory.Release(held)
	err := s.ask(ctx, "storing a blob", func(ctx context.Context) error {
		return s.put(ctx, address, blobs.NewSource(ctx, r, size), size)
	})
	if err != nil {
		return blobs.Blob{}, err
	}
	return blobs.Blob{Address: address, Size: size, Stored: s.now()}, nil
}

// put uploads an object. If the reply to a completion was lost, the repetition is refused because the upload has ended,
// so the object is looked up.
func (s *Store) put(ctx context.Context, address blobs.Address, content io.Reader, size int64) error {
	_, err := s.client.PutObject(ctx, s.bucket, s.key(address), content, size, minio.PutObjectOptions{
		ContentType: "application/octet-stream", PartSize: partSize,
		// Not every store understands the library's signed chunks. The checksum also has each request in memory, so
		// that the library can repeat it.
		DisableContentSha256: true, SendContentMd5: true,
	})
	if minio.ToErrorResponse(err).Code != minio.NoSuchUpload {
		return err
	}
	info, missing := s.client.StatObject(ctx, s.bucket, s.key(address), minio.StatObjectOptions{})
	if missing != nil || info.Size != size {
		return err
	}
	return nil
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

// missing distinguishes a missing blob from a missing bucket, because the reply to a HEAD has no body with the reason.
func (s *Store) missing(ctx context.Context, err error) error {
	if minio.ToErrorResponse(err).Code != minio.NoSuchKey {
		return err
	}
	there, failed := s.client.BucketExists(ctx, s.bucket)
	if failed == nil && !there {
		return minio.ErrorResponse{Code: minio.NoSuchBucket, StatusCode: http.StatusNotFound}
	}
	return cmp.Or(failed, err)
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

// Open implements blobs.Store. An interrupted download continues with another request, because a blob never changes,
// and stores close connections that a slow client leaves idle.
func (s *Store) Open(ctx context.Context, address blobs.Address, offset, length int64) (io.ReadCloser, error) {
	if err := address.Check(); err != nil {
		return nil, err
	}
	if offset < 0 || length < 0 {
		return nil, fmt.Errorf("opening a blob: there are no %d bytes from %d", length, offset)
	}
	if length == 0 {
		_, err := s.Stat(ctx, address)
		return http.NoBody, err
	}
	r := &reader{store: s, ctx: ctx, key: s.key(address), offset: offset, left: min(length, math.MaxInt64-offset)}
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
	cuts         int           // consecutive
}

// open requests the rest of the range, which may be empty at the end of the object.
func (r *reader) open() error {
	return r.store.ask(r.ctx, "opening a blob", func(ctx context.Context) error {
		var options minio.GetObjectOptions
		if err := options.SetRange(r.offset, r.offset+r.left-1); err != nil {
			return err
		}
		body, info, _, err := r.store.core.GetObject(ctx, r.store.bucket, r.key, options)
		if minio.ToErrorResponse(err).StatusCode == http.StatusRequestedRangeNotSatisfiable {
			body, err = http.NoBody, nil
		}
		if err == nil {
			r.body, r.left = body, info.Size
		}
		return err
	})
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

// read reads once. It closes an interrupted body, without an error if another request may continue it.
func (r *reader) read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	r.offset, r.left = r.offset+int64(n), r.left-int64(n)
	if n > 0 {
		r.cuts = 0
	}
	if err == nil || r.left == 0 {
		return n, nil
	}
	_ = r.body.Close() // it is cut
	r.body = nil
	if r.cuts++; r.cuts > mostCuts && r.ctx.Err() == nil {
		return n, r.store.unavailable(r.ctx, "reading a blob", err)
	}
	return n, nil
}

// Close implements io.Closer.
func (r *reader) Close() error {
	r.left = 0
	if r.body != nil {
		_ = r.body.Close() // the rest is not wanted
	}
	return nil
}

// listable matches the prefixes that an address may have.
var listable = regexp.MustCompile(`^[a-z0-9.-]*$`)

// List implements blobs.Store. It skips objects that are not blobs.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[blobs.Blob, error] {
	return func(yield func(blobs.Blob, error) bool) {
		if !listable.MatchString(prefix) {
			return
		}
		for after, more := "", true; more; {
			var page []minio.ObjectInfo
			err := s.ask(ctx, "listing blobs", func(ctx context.Context) (err error) {
				page, err = s.page(ctx, s.root+prefix, after)
				return err
			})
			if err != nil {
				yield(blobs.Blob{}, err)
				return
			}
			for _, object := range page {
				address := s.address(object.Key)
				if address != "" && !yield(blobs.Blob{Address: address, Size: object.Size, Stored: object.LastModified}, nil) {
					return
				}
				after = object.Key
			}
			more = len(page) == objectsAtOnce
		}
	}
}

// page returns the objects after a key, at most objectsAtOnce.
func (s *Store) page(ctx context.Context, prefix, after string) (page []minio.ObjectInfo, err error) {
	for object := range s.client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{
		Prefix: prefix, Recursive: true, StartAfter: after, MaxKeys: objectsAtOnce,
	}) {
		if object.Err != nil {
			return nil, object.Err
		}
		if page = append(page, object); len(page) == objectsAtOnce {
			break
		}
	}
	return page, ctx.Err()
}

// Sweep aborts uploads left unfinished by crashes, and returns their number. A store that cannot list them by prefix
// removes them itself, such as MinIO after a day.
func (s *Store) Sweep(ctx context.Context) (aborted int, err error) {
	old, err := s.abandoned(ctx)
	if err != nil {
		return 0, err
	}
	for _, upload := range old {
		err := s.ask(ctx, "removing an unfinished blob", func(ctx context.Context) error {
			err := s.core.AbortMultipartUpload(ctx, s.bucket, upload.Key, upload.UploadID)
			if minio.ToErrorResponse(err).Code == minio.NoSuchUpload {
				return nil // another instance was first
			}
			return err
		})
		if err != nil {
			return aborted, err
		}
		aborted++
	}
	return aborted, nil
}

// abandoned returns the uploads that are too old to be under way.
func (s *Store) abandoned(ctx context.Context) (old []minio.ObjectMultipartInfo, err error) {
	err = s.ask(ctx, "listing unfinished blobs", func(ctx context.Context) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop() // the list, after an error
		for upload := range s.client.ListIncompleteUploads(ctx, s.bucket, s.root, true) {
			if upload.Err != nil {
				return upload.Err
			}
			if s.address(upload.Key) != "" && s.now().Sub(upload.Initiated) >= abandonedAfter {
				old = append(old, upload)
			}
		}
		return ctx.Err()
	})
	return old, err
}
