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
	// Put reads r to its end and stores it at an address that was drawn for it. The blob is durable when Put returns,
	// and it is stored completely or not at all, whatever fails. Memory is bounded however long r is. A Put that is
	// repeated replaces the blob as a whole. An error of r is returned wrapped.
	Put(ctx context.Context, address Address, r io.Reader) (Blob, error)

	// Stat describes a blob.
	Stat(ctx context.Context, address Address) (Blob, error)

	// Open returns a reader of length bytes of a blob from an offset, fewer if the blob ends before. A reader that is
	// open when the blob is deleted may continue or fail; it never reads anything else. The caller closes it.
	Open(ctx context.Context, address Address, offset, length int64) (io.ReadCloser, error)

	// Delete removes a blob. Deleting a missing one succeeds.
	Delete(ctx context.Context, address Address) error

	// List yields the blobs whose addresses begin with a prefix, in any order and in bounded memory: all for "",
	// those of a kind of owner for "clip-", those of an owner for "clip-<id>.". The last two cost nothing for the
	// blobs of others. After a non-nil error nothing more is yielded.
	List(ctx context.Context, prefix string) iter.Seq2[Blob, error]
}

// Blob describes the blob at an address.
type Blob struct {
	Address Address
	Size    int64 // bytes
	Stored  time.Time
}

// Owner is the name of the stream whose events determine whether its blobs are still needed, for example clip-<id>.
// It is part of their addresses: so no two owners ever share a blob, and deleting one's never deletes another's.
type Owner string

// Address identifies a blob: its owner, and a name that was drawn for it, so that it is known before the content is,
// and reveals nothing about it.
type Address string

// nameSize is the number of random bytes in an address.
const nameSize = 32

// Errors of a Store.
var (
	ErrNotFound    = errors.New("there is no such blob")
	ErrAddress     = errors.New("this is not the address of a blob")
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

// NewAddress draws an address for a blob of the owner. No other call returns the same.
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

// Name returns the part of the address that was drawn, in hex digits. The address must have been checked.
func (a Address) Name() string {
	_, name, _ := strings.Cut(string(a), ".")
	return name
}
