// Package sealed stores blobs sealed with the keys of their accounts, in any store. A sealed blob is
//
//	16 bytes   a magic number with the version of the format
//	 2 bytes   the length of the sealed data key, big endian
//	           a data key of 256 bits, sealed by the account's key for the purpose blob/<address>
//	           zeros, up to 256 bytes in all
//	           the content in DARE 2.0: frames of 64 KiB (github.com/minio/sio, DARE.md)
//
// Reading a range reads only the frames that contain it, and the header. A blob that was altered, truncated, or sealed
// for another address or account gives an error, never other content.
package sealed

import (
	"context"
	"errors"
	"fmt"
	"io"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/minio/sio"

	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

// ErrBroken means that a blob was altered or truncated, or is not a sealed one.
var ErrBroken = errors.New("the sealed blob is broken")

// frame is the size of a frame's content in bytes; sealedFrame includes its header and tag.
const (
	frame       = 64 << 10
	sealedFrame = frame + 32
)

// maxOffset bounds offsets: a blob has at most 2³² frames.
const maxOffset = frame << 32

// Store puts sealed blobs into a store, and reads them.
type Store struct {
	store blobs.Store
	keys  keyring.Keyring
	// The sealed data keys of recently read blobs. The key of an address never changes.
	sealedKeys *lru.Cache[blobs.Address, []byte]
}

// rememberedKeys bounds the memory of a Store: about 500 bytes each.
const rememberedKeys = 1000

// New returns a Store that keeps its blobs in store.
func New(store blobs.Store, keys keyring.Keyring) *Store {
	sealedKeys, _ := lru.New[blobs.Address, []byte](rememberedKeys) // fails for a size below 1
	return &Store{store: store, keys: keys, sealedKeys: sealedKeys}
}

// Put seals size bytes, at least one, which are all of r, and stores them as blobs.Store.Put does. The returned blob
// has the size of the content.
func (s *Store) Put(ctx context.Context, e Envelope, r io.Reader, size int64) (blobs.Blob, error) {
	content, err := sio.EncryptReader(r, config(e.key, 0))
	if err != nil {
		return blobs.Blob{}, fmt.Errorf("sealing a blob: %w", err)
	}
	sealed, err := sio.EncryptedSize(uint64(size))
	if err != nil {
		return blobs.Blob{}, fmt.Errorf("sealing a blob: %w", err)
	}
	blob, err := s.store.Put(ctx, e.Address, io.MultiReader(e.header(), content), headerSize+int64(sealed))
	blob.Size = size
	return blob, err
}

// Open reads a range of an account's blob as blobs.Store.Open does, except that an offset past the end is ErrBroken,
// because the blob may have been truncated. It and the reader return ErrBroken, and the errors of the store and the
// keyring.
func (s *Store) Open(
	ctx context.Context, account string, address blobs.Address, offset, length int64,
) (io.ReadCloser, error) {
	if offset < 0 || offset >= maxOffset || length < 0 {
		return nil, errors.New("reading a sealed blob: there is no such range")
	}
	first, frames := offset/frame, framesOf(offset, length)
	blob, key, err := s.begin(ctx, account, address, first, frames)
	if err != nil {
		return nil, err
	}
	content, err := sio.DecryptReader(blob, config(key, uint32(first)))
	if err == nil {
		_, err = io.CopyN(io.Discard, content, offset%frame)
	}
	if errors.Is(err, io.EOF) {
		err = ErrBroken
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading a sealed blob: %w", explain(err)), blob.Close())
	}
	return &reader{content: &io.LimitedReader{R: content, N: length}, blob: blob}, nil
}

// framesOf returns the number of frames that hold a range, at least one.
func framesOf(offset, length int64) int64 {
	length = min(length, maxOffset-offset)
	return (offset%frame+length-1)/frame + 1
}

// begin opens a blob at a frame, and its data key. The header is read with the first frame; for other frames it is read
// only if the sealed data key is unknown.
func (s *Store) begin(
	ctx context.Context, account string, address blobs.Address, first, frames int64,
) (io.ReadCloser, []byte, error) {
	at, length := headerSize+first*sealedFrame, frames*sealedFrame
	var sealed []byte
	var err error
	if first > 0 {
		sealed, err = s.knownKey(ctx, address)
	} else {
		at, length = 0, headerSize+length
	}
	if err != nil {
		return nil, nil, err
	}
	blob, err := s.store.Open(ctx, address, at, length)
	if err != nil {
		return nil, nil, err
	}
	if first == 0 {
		sealed, err = sealedKey(blob)
	}
	var key []byte
	if err == nil {
		key, err = s.dataKey(ctx, account, address, sealed)
	}
	if err != nil {
		return nil, nil, errors.Join(err, blob.Close())
	}
	return blob, key, nil
}

// knownKey returns the sealed data key of a blob. It reads the header if the key is unknown.
func (s *Store) knownKey(ctx context.Context, address blobs.Address) ([]byte, error) {
	if sealed, known := s.sealedKeys.Get(address); known {
		return sealed, nil
	}
	blob, err := s.store.Open(ctx, address, 0, headerSize)
	if err != nil {
		return nil, err
	}
	sealed, err := sealedKey(blob)
	return sealed, errors.Join(err, blob.Close())
}

// config accepts only version 2.0 of DARE, whatever the version in the blob.
func config(key []byte, sequence uint32) sio.Config {
	return sio.Config{MinVersion: sio.Version20, MaxVersion: sio.Version20, Key: key, SequenceNumber: sequence}
}

// reader reads a range. After an error it returns no more data.
type reader struct {
	content *io.LimitedReader
	blob    io.Closer
	err     error
}

func (r *reader) Read(p []byte) (n int, err error) {
	if r.err == nil {
		n, r.err = r.content.Read(p)
		r.err = explain(r.err)
	}
	return n, r.err
}

// Close reads the rest of the last frame if the range was read to its end: sio releases the buffer of a frame for the
// next reader when it is empty.
func (r *reader) Close() error {
	if r.content.N <= 0 {
		_, _ = io.Copy(io.Discard, r.content.R)
	}
	return r.blob.Close()
}

// explain returns ErrBroken for errors of the format, and other errors unchanged.
func explain(err error) error {
	if errors.As(err, new(sio.Error)) {
		return fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return err
}
