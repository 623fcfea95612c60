package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/recital-tts/recital/internal/providers/blobs"
)

// What uploads hold at once, at most: 128 × 256 KiB and 8 × 5 MiB are 72 MiB. Others wait for their turn, until their
// contexts end. Whoever has a small buffer may wait for a large one; nobody waits the other way round.
const (
	smallUploads = 128
	smallPart    = 256 << 10
	largeUploads = 8
	largePart    = 5 << 20 // the least that S3 permits for a part that is not the last

	// abortTimeout bounds the end of an upload that has failed.
	abortTimeout = 10 * time.Second
)

// slots are places that are taken by sending.
type slots chan struct{}

func (s slots) take(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for a turn to keep a blob: %w", ctx.Err())
	}
}

func (s slots) release() { <-s }

// Put implements blobs.Store.
func (s *Store) Put(ctx context.Context, address blobs.Address, r io.Reader) (blobs.Blob, error) {
	if err := address.Check(); err != nil {
		return blobs.Blob{}, err
	}
	if err := s.small.take(ctx); err != nil {
		return blobs.Blob{}, err
	}
	defer s.small.release()
	source := &source{ctx: ctx, r: r}
	first, ended, err := source.fill(make([]byte, smallPart), 0)
	if err != nil {
		return blobs.Blob{}, err
	}
	if ended {
		return s.putWhole(ctx, address, first)
	}
	if err := s.large.take(ctx); err != nil {
		return blobs.Blob{}, err
	}
	buffer := make([]byte, largePart)
	part, ended, err := source.fill(buffer, copy(buffer, first))
	if err == nil && !ended {
		return s.putParts(ctx, address, source, part) // which gives the turn back
	}
	defer s.large.release()
	if err != nil {
		return blobs.Blob{}, err
	}
	return s.putWhole(ctx, address, part)
}

// putWhole stores a blob with one request. Where the outcome is unknown it may be there all the same: whole, and
// without anything that refers to it.
func (s *Store) putWhole(ctx context.Context, address blobs.Address, content []byte) (blobs.Blob, error) {
	err := s.ask(ctx, "keeping a blob", func(ctx context.Context) error {
		_, err := s.core.PutObject(ctx, s.bucket, s.key(address), bytes.NewReader(content), int64(len(content)), "", checksum(content), putOptions())
		return err
	})
	if err != nil {
		return blobs.Blob{}, err
	}
	return blobs.Blob{Address: address, Size: int64(len(content)), Stored: time.Now()}, nil
}

// putParts stores a blob in parts, each of which is read into the memory of the first. It gives the turn of a large
// upload back once the upload is over, at the store as well.
func (s *Store) putParts(ctx context.Context, address blobs.Address, source *source, part []byte) (blobs.Blob, error) {
	var id string
	err := s.ask(ctx, "beginning a blob", func(ctx context.Context) (err error) {
		id, err = s.core.NewMultipartUpload(ctx, s.bucket, s.key(address), putOptions())
		return err
	})
	if err != nil {
		s.large.release()
		return blobs.Blob{}, err
	}
	size, err := s.fillUpload(ctx, address, id, source, part)
	if err != nil {
		s.abort(address, id)
		return blobs.Blob{}, err
	}
	s.large.release()
	return blobs.Blob{Address: address, Size: size, Stored: time.Now()}, nil
}

func (s *Store) fillUpload(ctx context.Context, address blobs.Address, id string, source *source, part []byte) (size int64, err error) {
	var parts []minio.CompletePart
	for ended := false; len(part) > 0; {
		sent, err := s.putPart(ctx, address, id, len(parts)+1, part)
		if err != nil {
			return 0, err
		}
		parts, size = append(parts, sent), size+int64(len(part))
		if ended {
			break
		}
		if part, ended, err = source.fill(part[:largePart], 0); err != nil {
			return 0, err
		}
	}
	return size, s.complete(ctx, address, id, parts, size)
}

func (s *Store) putPart(ctx context.Context, address blobs.Address, id string, number int, part []byte) (sent minio.CompletePart, err error) {
	err = s.ask(ctx, "keeping a part of a blob", func(ctx context.Context) error {
		done, err := s.core.PutObjectPart(ctx, s.bucket, s.key(address), id, number, bytes.NewReader(part), int64(len(part)),
			minio.PutObjectPartOptions{Sha256Hex: checksum(part), DisableContentSha256: true})
		sent = minio.CompletePart{PartNumber: number, ETag: done.ETag}
		return err
	})
	return sent, err
}

// complete makes the blob visible. A completion whose reply was lost is repeated, and then refused, because the upload
// is no more: the blob is looked for.
func (s *Store) complete(ctx context.Context, address blobs.Address, id string, parts []minio.CompletePart, size int64) error {
	return s.ask(ctx, "completing a blob", func(ctx context.Context) error {
		_, err := s.core.CompleteMultipartUpload(ctx, s.bucket, s.key(address), id, parts, minio.PutObjectOptions{})
		if err == nil || understand(err).code != minio.NoSuchUpload {
			return err
		}
		info, missing := s.client.StatObject(ctx, s.bucket, s.key(address), minio.StatObjectOptions{})
		if missing != nil || info.Size != size {
			return err
		}
		return nil
	})
}

// abort removes the parts of an upload that has failed, in the background: its caller has waited enough. What it cannot
// remove, the sweep does. Until then no other upload takes its turn, so that no more than largeUploads are under way.
func (s *Store) abort(address blobs.Address, id string) {
	s.aborting.Go(func() {
		defer s.large.release()
		ctx, cancel := context.WithTimeout(context.Background(), abortTimeout)
		defer cancel()
		_ = s.core.AbortMultipartUpload(ctx, s.bucket, s.key(address), id) // the sweep repeats it
	})
}

// putOptions have the checksum take the place of the library's own, which are chunks that not every store understands.
func putOptions() minio.PutObjectOptions {
	return minio.PutObjectOptions{ContentType: "application/octet-stream", DisableContentSha256: true}
}

// checksum lets the store refuse what was changed on its way.
func checksum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// source reads what a blob shall hold, until its context ends.
type source struct {
	ctx context.Context
	r   io.Reader
}

// fill reads until a buffer is full, of which so many bytes are used. Ended means that the source was read to its end.
func (s *source) fill(buffer []byte, used int) (filled []byte, ended bool, err error) {
	for used < len(buffer) && err == nil {
		if err = s.ctx.Err(); err != nil {
			break
		}
		var n int
		n, err = s.r.Read(buffer[used:])
		used += n
	}
	if errors.Is(err, io.EOF) {
		return buffer[:used], true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading what a blob shall hold: %w", err)
	}
	return buffer[:used], false, nil
}
