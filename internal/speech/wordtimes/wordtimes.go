// Package wordtimes stores the word times of audio-only replies for ten minutes. They are blobs, so that every instance
// finds them, and are sealed with the account's key, because they contain its text. There is no event for them, because
// they are temporary and have no consequences in the domain. The blob itself identifies its account, its name
// identifies the reply, and its age determines when it is erased.
package wordtimes

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/speech"
)

// Kept is the time for which word times can be read after the end of the audio.
const Kept = 10 * time.Minute

const (
	ownerKind = "timestamps-"
	idSize    = 16      // bytes: 4 of the time, 12 random
	maxSize   = 8 << 20 // bytes of a blob: several times the size for 5,000 characters
	readers   = 16      // concurrent reads in the search for an account's blobs
)

// Errors of a Store, besides its store's and keyring's.
var (
	ErrNotFound = errors.New("there are no such word times")
	errBroken   = errors.New("the blob contains no word times")
)

// Store stores word times.
type Store struct {
	keys  keyring.Keyring
	blobs blobs.Store
	now   func() time.Time
}

// New returns a Store with the clock now.
func New(keys keyring.Keyring, store blobs.Store, now func() time.Time) *Store {
	return &Store{keys: keys, blobs: store, now: now}
}

// DrawID returns a new id that cannot be guessed. It contains its time: see Drawn.
func (s *Store) DrawID() (string, error) {
	var id [idSize]byte
	binary.BigEndian.PutUint32(id[:], uint32(s.now().Unix())) // to the year 2106
	if _, err := rand.Read(id[4:]); err != nil {
		return "", fmt.Errorf("drawing an id: %w", err)
	}
	return hex.EncodeToString(id[:]), nil
}

// Drawn returns the time of an id, or false if the id is invalid.
func Drawn(id string) (time.Time, bool) {
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != idSize || strings.ToLower(id) != id {
		return time.Time{}, false
	}
	return time.Unix(int64(binary.BigEndian.Uint32(raw)), 0), true
}

// kept is the content of a blob.
type kept struct {
	Account string `json:"account"`
	Sealed  []byte `json:"sealed"` // a list of speech.Timing in JSON, sealed for sealedFor
}

func owner(id string) blobs.Owner { return blobs.Owner(ownerKind + id) }

func sealedFor(id string) string { return "timestamps/" + id }

// Put stores times under a new id from DrawID.
func (s *Store) Put(ctx context.Context, account, id string, times []speech.Timing) error {
	plain, err := json.Marshal(times)
	if err != nil {
		return fmt.Errorf("encoding word times: %w", err)
	}
	sealed, err := s.keys.Seal(ctx, account, plain, sealedFor(id))
	if err != nil {
		return fmt.Errorf("sealing word times: %w", err)
	}
	blob, err := json.Marshal(kept{Account: account, Sealed: sealed})
	if err != nil {
		return fmt.Errorf("encoding word times: %w", err)
	}
	if _, err := s.blobs.Put(ctx, blobs.NewAddress(owner(id)), bytes.NewReader(blob), int64(len(blob))); err != nil {
		return fmt.Errorf("keeping word times: %w", err)
	}
	return nil
}

// Find returns the times with an id, which may be any text from a client. Errors: ErrNotFound, also if they have
// expired or their account's key is gone.
func (s *Store) Find(ctx context.Context, id string) ([]speech.Timing, error) {
	if _, ok := Drawn(id); !ok {
		return nil, ErrNotFound
	}
	for blob, err := range s.blobs.List(ctx, owner(id).Prefix()) {
		if err != nil {
			return nil, fmt.Errorf("looking for word times: %w", err)
		}
		if s.over(blob) {
			continue
		}
		times, err := s.open(ctx, id, blob)
		if errors.Is(err, blobs.ErrNotFound) || keyring.Gone(err) {
			return nil, ErrNotFound
		}
		if err != nil {
			return nil, fmt.Errorf("reading word times: %w", err)
		}
		return times, nil
	}
	return nil, ErrNotFound
}

func (s *Store) over(blob blobs.Blob) bool { return s.now().Sub(blob.Stored) >= Kept }

func (s *Store) open(ctx context.Context, id string, blob blobs.Blob) ([]speech.Timing, error) {
	found, err := s.read(ctx, blob.Address)
	if err != nil {
		return nil, err
	}
	plain, err := s.keys.Open(ctx, found.Account, found.Sealed, sealedFor(id))
	if err != nil {
		return nil, err
	}
	var times []speech.Timing
	if json.Unmarshal(plain, &times) != nil {
		return nil, errBroken // the cause might quote the text
	}
	return times, nil
}

func (s *Store) read(ctx context.Context, address blobs.Address) (found kept, err error) {
	reader, err := s.blobs.Open(ctx, address, 0, maxSize)
	if err != nil {
		return kept{}, err
	}
	defer reader.Close()
	content, err := io.ReadAll(reader)
	if err != nil {
		return kept{}, err
	}
	if json.Unmarshal(content, &found) != nil {
		return kept{}, errBroken
	}
	return found, nil
}

// EraseFor erases all times of an account, expired or not.
func (s *Store) EraseFor(ctx context.Context, account string) error {
	return s.each(ctx, account, time.Time{}, s.blobs.Delete)
}

// Count returns the number of blobs of an account. The caller knows that none was stored after until, which saves
// reads. The zero time is no bound.
func (s *Store) Count(ctx context.Context, account string, until time.Time) (int64, error) {
	var count atomic.Int64
	err := s.each(ctx, account, until, func(context.Context, blobs.Address) error {
		count.Add(1)
		return nil
	})
	return count.Load(), err
}

// each calls do concurrently for the blobs of an account. Only the content of a blob identifies its account, so it
// reads the blobs of all accounts, up to until. Kept limits their number.
func (s *Store) each(
	ctx context.Context, account string, until time.Time, do func(context.Context, blobs.Address) error,
) error {
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(readers)
	for blob, err := range s.blobs.List(ctx, ownerKind) {
		if err != nil {
			return errors.Join(fmt.Errorf("looking for an account's word times: %w", err), reading.Wait())
		}
		if !until.IsZero() && blob.Stored.After(until.Add(Kept)) { // the clocks of stores differ by less
			continue
		}
		reading.Go(func() error {
			found, err := s.read(ctx, blob.Address)
			switch {
			case errors.Is(err, blobs.ErrNotFound), errors.Is(err, errBroken):
				return nil
			case err == nil && found.Account == account:
				err = do(ctx, blob.Address)
			}
			if err != nil {
				return fmt.Errorf("looking at an account's word times: %w", err)
			}
			return nil
		})
	}
	return reading.Wait()
}

// Sweep erases the expired times of all instances, including those left by a crash, and returns their number.
func (s *Store) Sweep(ctx context.Context) (erased int, err error) {
	for blob, err := range s.blobs.List(ctx, ownerKind) {
		if err != nil {
			return erased, fmt.Errorf("sweeping word times: %w", err)
		}
		if !s.over(blob) {
			continue
		}
		if err := s.blobs.Delete(ctx, blob.Address); err != nil {
			return erased, fmt.Errorf("sweeping word times: %w", err)
		}
		erased++
	}
	return erased, nil
}

// Has reports whether a blob holds word times.
func Has(address blobs.Address) bool { return strings.HasPrefix(string(address), ownerKind) }
