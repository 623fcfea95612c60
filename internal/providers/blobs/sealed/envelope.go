package sealed

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/recital-tts/recital/internal/providers/blobs"
)

const (
	magic      = "recital sealed\x00\x01"
	headerSize = 256
	keySize    = 32
	keyAt      = len(magic) + 2 // where the sealed data key begins
)

// Envelope has the key of one blob. It is created before the content, so that the keyring is not needed afterwards.
type Envelope struct {
	Address blobs.Address
	key     []byte // in clear
	sealed  []byte
}

// Envelope returns a new envelope for a blob of an account. It returns the errors of the keyring.
func (s *Store) Envelope(ctx context.Context, account string, address blobs.Address) (Envelope, error) {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	sealed, err := s.keys.Seal(ctx, account, key, purpose(address))
	if err != nil {
		return Envelope{}, fmt.Errorf("sealing the key of a blob: %w", err)
	}
	if len(sealed) > headerSize-keyAt {
		return Envelope{}, errors.New("sealing the key of a blob: it is too long")
	}
	return Envelope{Address: address, key: key, sealed: sealed}, nil
}

// purpose binds a data key to its blob.
func purpose(address blobs.Address) string { return "blob/" + string(address) }

func (e Envelope) header() io.Reader {
	header := make([]byte, headerSize)
	copy(header, magic)
	binary.BigEndian.PutUint16(header[len(magic):], uint16(len(e.sealed)))
	copy(header[keyAt:], e.sealed)
	return bytes.NewReader(header)
}

// dataKey opens the sealed data key of a blob.
func (s *Store) dataKey(ctx context.Context, account string, address blobs.Address, sealed []byte) ([]byte, error) {
	key, err := s.keys.Open(ctx, account, sealed, purpose(address))
	if err != nil {
		return nil, fmt.Errorf("opening the key of a sealed blob: %w", err)
	}
	s.sealedKeys.Add(address, sealed)
	return key, nil
}

// sealedKey reads the header of a blob, and returns the sealed data key.
func sealedKey(blob io.Reader) ([]byte, error) {
	header := make([]byte, headerSize)
	_, err := io.ReadFull(blob, header)
	if err == io.EOF || err == io.ErrUnexpectedEOF { //nolint:errorlint // not the wrapped one of a cut connection
		err = ErrBroken
	}
	if err != nil {
		return nil, fmt.Errorf("reading the header of a sealed blob: %w", err)
	}
	length := int(binary.BigEndian.Uint16(header[len(magic):]))
	if string(header[:len(magic)]) != magic || length > headerSize-keyAt ||
		!bytes.Equal(header[keyAt+length:], make([]byte, headerSize-keyAt-length)) {
		return nil, fmt.Errorf("reading the header of a sealed blob: %w", ErrBroken)
	}
	return header[keyAt : keyAt+length], nil
}
