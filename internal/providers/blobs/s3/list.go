package s3

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/recital-tts/recital/internal/providers/blobs"
)

const (
	objectsAtOnce = 1000 // of a list, in memory
	pageTimeout   = 2 * requestTimeout
	// abandonedAfter is the age of an upload that nobody can be still carrying out.
	abandonedAfter = 24 * time.Hour
	uploadsAtOnce  = 1000
	// mostPages bounds a sweep of a store that does not come to an end.
	mostPages = 1000
)

// listable matches the prefixes that an address may have.
var listable = regexp.MustCompile(`^[a-z0-9.-]*$`)

// List implements blobs.Store. It skips objects that are no blobs.
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

// page returns the objects after a key, at most objectsAtOnce. The time for it is bounded, because a store may send any
// number of pages on which there is nothing.
func (s *Store) page(ctx context.Context, prefix, after string) (page []minio.ObjectInfo, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	for object := range s.client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{
		Prefix: prefix, Recursive: true, StartAfter: after, MaxKeys: objectsAtOnce,
	}) {
		switch {
		case object.Err != nil:
			return nil, object.Err
		case object.Key <= after: // S3 lists in order; this may go round in circles
			return nil, errAnswer
		}
		page, after = append(page, object), object.Key
		if len(page) == objectsAtOnce {
			return page, nil
		}
	}
	return page, ctx.Err()
}

// Sweep aborts the uploads that crashes have left unfinished, and returns how many. Where the store lists none (MinIO
// does so for whole keys only) it is the store's own task: MinIO removes them after a day.
func (s *Store) Sweep(ctx context.Context) (aborted int, err error) {
	var key, id string
	for range mostPages {
		var page minio.ListMultipartUploadsResult
		err := s.ask(ctx, "listing unfinished blobs", func(ctx context.Context) (err error) {
			page, err = s.core.ListMultipartUploads(ctx, s.bucket, s.root, key, id, "", uploadsAtOnce)
			return err
		})
		if err != nil {
			return aborted, err
		}
		done, err := s.abortOld(ctx, page.Uploads)
		aborted += done
		if err != nil || !page.IsTruncated {
			return aborted, err
		}
		key, id = page.NextKeyMarker, page.NextUploadIDMarker
	}
	return aborted, fmt.Errorf("listing unfinished blobs: %w: %w", blobs.ErrUnavailable, errAnswer)
}

func (s *Store) abortOld(ctx context.Context, uploads []minio.ObjectMultipartInfo) (aborted int, err error) {
	for _, upload := range uploads {
		if s.address(upload.Key) == "" || s.now().Sub(upload.Initiated) < abandonedAfter {
			continue
		}
		err := s.ask(ctx, "removing an unfinished blob", func(ctx context.Context) error {
			err := s.core.AbortMultipartUpload(ctx, s.bucket, upload.Key, upload.UploadID)
			if understand(err).code == minio.NoSuchUpload {
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
