// Package blobs is the port to the store of data that is too large for events, such as audio. Adapters are
// subpackages (folder); every adapter passes the contract suite in blobtest.
package blobs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strings"
	"time"

	"github.com/recital-tts/recital/domain"
)

// Store stores blobs: byte sequences that are written as a whole, and never changed. Every call ends with its
// context.
//
// Errors: ErrNotFound if there is no blob at an address; ErrAddress if an address is invalid; the context's error if
// it ended first; all others are failures of the store and have the code domain.Unavailable.
type Store interface {
	// Put reads size bytes, which are all of r, and stores them at a new address from NewAddress. The blob is durable when
	// Put returns, and it is stored completely or not at all. Memory is bounded for any length of r. A repeated Put
	// replaces the blob as a whole. An error of r is returned wrapped, with ErrSource.
	Put(ctx context.Context, address Address, r io.Reader, size int64) (Blob, error)

	// Stat describes a blob.
	Stat(ctx context.Context, address Address) (Blob, error)

	// Open returns a reader of length bytes of a blob from an offset, fewer if the blob ends before. A reader that is
	// open when the blob is deleted may continue or fail; it never reads anything else. The caller closes it.
	Open(ctx context.Context, address Address, offset, length int64) (io.ReadCloser, error)

	// Delete removes a blob. Deleting a missing one succeeds.
	Delete(ctx context.Context, address Address) error

	// List yields the blobs with a prefix of their addresses, in any order and in bounded memory: all for "", a kind of
	// owner's for "clip-", one owner's for "clip-<id>.". The cost of the last two does not depend on the blobs of others.
	// A non-nil error is the last element.
	List(ctx context.Context, prefix string) iter.Seq2[Blob, error]
}

// Blob describes the blob at an address.
type Blob struct {
	Address Address
	Size    int64 // bytes
	Stored  time.Time
}

// Owner is the name of the stream whose events determine whether its blobs are still needed, for example clip-<id>. It
// is part of their addresses, so that owners never share a blob, and deleting one owner's blobs never deletes
// another's.
type Owner string

// Address identifies a blob: its owner, and a random name, which is known before the content and reveals no part of it.
type Address string

// nameSize is the number of random bytes in an address.
const nameSize = 32

// Errors of a Store.
var (
	ErrNotFound    = errors.New("there is no such blob")
	ErrAddress     = errors.New("this is not the address of a blob")
	ErrSource      = errors.New("reading the content of a blob")
	ErrUnavailable = domain.Refuse(domain.Unavailable, "The blob store does not answer")
)

var (
	ownerPattern   = regexp.MustCompile(`^[a-z]+-[0-9a-z]{8,64}$`)
	addressPattern = regexp.MustCompile(`^[a-z]+-[0-9a-z]{8,64}\.[0-9a-f]{64}$`)
)

// Check returns an error for an owner that cannot be part of an address.
func (o Owner) Check() error {
	if !ownerPattern.MatchString(string(o)) {
		return fmt.Errorf("the owner of a blob is <kind>-<id> in lower case letters and digits: %w", ErrAddress)
	}
	return nil
}

// Prefix returns the prefix of the addresses of the owner's blobs, and of no others.
func (o Owner) Prefix() string { return string(o) + "." }

// NewAddress returns a new, unique address for a blob of the owner.
func NewAddress(owner Owner) Address {
	var name [nameSize]byte
	_, _ = rand.Read(name[:]) // never fails
	return Address(owner.Prefix() + hex.EncodeToString(name[:]))
}

// Check returns an error for an address that NewAddress cannot return for an owner. Every adapter calls it before it
// builds a path or a key.
func (a Address) Check() error {
	if !addressPattern.MatchString(string(a)) {
		return ErrAddress
	}
	return nil
}

// Owner returns the owner of the blob. The address must have been checked.
func (a Address) Owner() Owner {
	owner, _, _ := strings.Cut(string(a), ".")
	return Owner(owner)
}

// Name returns the random part of the address, in hex digits. The address must have been checked.
func (a Address) Name() string {
	_, name, _ := strings.Cut(string(a), ".")
	return name
}

var errSize = errors.New("it does not have the announced size")

// Source reads the content of a Put for an adapter. It fails when the context of the Put ends, and with ErrSource if
// the reader fails or does not have the announced size.
type Source struct {
	ctx  context.Context
	r    io.Reader
	left int64
	err  error
}

// NewSource returns a Source of size bytes, which are all of r.
func NewSource(ctx context.Context, r io.Reader, size int64) *Source {
	return &Source{ctx: ctx, r: r, left: size}
}

// Read implements io.Reader.
func (s *Source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, s.fail(err)
	}
	n, err := s.r.Read(p)
	s.left -= int64(n)
	if s.left == 0 && err == nil {
		_, err = io.ReadFull(s.r, make([]byte, 1)) // is io.EOF if the reader ends here
		if err == nil {
			s.left--
		}
	}
	switch ended := errors.Is(err, io.EOF); {
	case s.left < 0, ended && s.left > 0:
		return 0, s.fail(errSize) // without the last bytes, so that the content is not taken for complete
	case ended:
		return n, io.EOF
	case err != nil:
		return n, s.fail(err)
	}
	return n, nil
}

func (s *Source) fail(err error) error {
	s.err = fmt.Errorf("%w: %w", ErrSource, err)
	return s.err
}

// Err returns the error of the source, as opposed to a failure of the store.
func (s *Source) Err() error { return s.err }
