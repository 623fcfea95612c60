// Package blobs is the port to the store of what is too large for events: audio. Adapters are subpackages (folder);
// every adapter passes the contract suite in blobtest.
package blobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strings"
	"time"

	"github.com/recital-tts/recital/domain"
)

// Store keeps blobs: runs of bytes that are written once, whole, and never changed. Every call ends with its context.
//
// Errors: ErrNotFound for an address that holds nothing; ErrAddress for one that is none; the context's error when it
// ended first; everything else is the store's own trouble and is domain.Unavailable.
type Store interface {
	// Put reads r to its end and keeps it for the owner. The blob is durable when Put returns, and it is there whole or not
	// at all, whatever fails. Memory stays bounded however long r is. Putting the same content for the same owner again
	// gives the same address. An error of r is returned wrapped.
	Put(ctx context.Context, owner Owner, r io.Reader) (Blob, error)

	// Stat describes a blob.
	Stat(ctx context.Context, address Address) (Blob, error)

	// Open reads length bytes of a blob from an offset, fewer where the blob ends before. A reader that is open when the
	// blob is deleted may read on or fail; it never reads anything else. The caller closes it.
	Open(ctx context.Context, address Address, offset, length int64) (io.ReadCloser, error)

	// Delete removes a blob. Deleting one that is not there succeeds.
	Delete(ctx context.Context, address Address) error

	// List yields the blobs whose addresses begin with a prefix, in any order and in bounded memory: all for "", a kind of
	// owner's for "clip-", an owner's for "clip-<id>.". The last two cost nothing for the blobs of others. After a non-nil
	// error nothing more is yielded.
	List(ctx context.Context, prefix string) iter.Seq2[Blob, error]
}

// Blob is what a store holds at an address.
type Blob struct {
	Address Address
	Size    int64 // bytes
	Stored  time.Time
}

// Owner names the stream whose events tell whether its blobs are still needed, for example clip-<id>. It is part of
// their addresses: so no two owners ever share a blob, and deleting one's never takes another's.
type Owner string

// Address is where a blob is: its owner, and a keyed hash (HMAC-SHA-256) of owner and content. The key keeps those who
// read the log from guessing texts and comparing what they sound like.
type Address string

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

// Check refuses an owner that could not be part of an address.
func (o Owner) Check() error {
	if !ownerPattern.MatchString(string(o)) {
		return fmt.Errorf("the owner of a blob is <kind>-<id> in lower case letters and digits: %w", ErrAddress)
	}
	return nil
}

// Prefix is what the addresses of the owner's blobs begin with, and no others.
func (o Owner) Prefix() string { return string(o) + "." }

// NewAddress is the address of an owner's blob with this hash, 64 hex digits.
func NewAddress(owner Owner, hash string) Address { return Address(string(owner) + "." + hash) }

// Check refuses what NewAddress could not have made. Every adapter calls it before it makes a path or a key.
func (a Address) Check() error {
	if !addressPattern.MatchString(string(a)) {
		return ErrAddress
	}
	return nil
}

// Owner is whose blob it is. The address must be a checked one.
func (a Address) Owner() Owner {
	owner, _, _ := strings.Cut(string(a), ".")
	return Owner(owner)
}

// Hash is the part of the address that depends on the content. The address must be a checked one.
func (a Address) Hash() string {
	_, hash, _ := strings.Cut(string(a), ".")
	return hash
}
