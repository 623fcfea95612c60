// Package sealed keeps blobs sealed with the keys of their accounts, in any store. A sealed blob is
//
//	16 bytes   what it is, with the version of this format
//	 2 bytes   the length of the sealed data key, big endian
//	           a data key of 256 bits, sealed by the account's key for the purpose blob/<address>
//	           zeros, up to 256 bytes in all
//	           the content in DARE 2.0: frames of 64 KiB (github.com/minio/sio, DARE.md)
//
// so a range costs the frames that hold it, and the first one of a blob its header. What was altered, cut, or sealed
// for another address or account is an error, never other content.
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

// ErrBroken means that a blob is not what was put: altered, cut, or not a sealed one.
var ErrBroken = errors.New("the sealed blob is broken")

// frame is the size of a frame's content, and sealedFrame that of a frame, in bytes.
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
	// The data keys of blobs that were read, sealed as they are in the blobs: an address has one for ever.
	sealedKeys *lru.Cache[blobs.Address, []byte]
}

// rememberedKeys bounds the memory of a Store: about 500 bytes each.
const rememberedKeys = 1000

// New returns a Store that keeps its blobs in store.
func New(store blobs.Store, keys keyring.Keyring) *Store {
	sealedKeys, _ := lru.New[blobs.Address, []byte](rememberedKeys) // fails for a size below 1
	return &Store{store: store, keys: keys, sealedKeys: sealedKeys}
}

// Put seals size bytes, at least one, which are all of r, and stores them as blobs.Store.Put does. The size of the blob
// that it returns is that of the content.
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

// Open reads a range of an account's blob as blobs.Store.Open does, except that an offset past the end is ErrBroken:
// that may be a blob which was cut. Errors, besides those of the store and the keyring: ErrBroken, also of the
// reader.
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

// begin opens a blob at a frame, and its data key. The header comes with the first frame where that is wanted, and is
// not read for others while its sealed data key is known.
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

// knownKey returns the sealed data key of a blob, and reads the header where it is not known.
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

// config is that of the stream: nothing but DARE 2.0, whatever the blob says.
func config(key []byte, sequence uint32) sio.Config {
	return sio.Config{MinVersion: sio.Version20, MaxVersion: sio.Version20, Key: key, SequenceNumber: sequence}
}

// reader reads a range. After an error it reads nothing more.
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

// Close reads what is left of the last frame after a range that was read to its end: sio gives a frame's buffer back
// for the next reader when there is nothing left.
func (r *reader) Close() error {
	if r.content.N <= 0 {
		_, _ = io.Copy(io.Discard, r.content.R)
	}
	return r.blob.Close()
}

// explain turns what the format finds wrong into ErrBroken, and leaves other errors as they are.
func explain(err error) error {
	if errors.As(err, new(sio.Error)) {
		return fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return err
}
