// Package chain is the hash chain over our events in log order, and the check of a log against signed heads. Each
// event's hash includes the previous one, so a head with the hash of the last event covers all of them.
//
// A stored head proves that none of the events up to it was altered, removed, added or reordered since it was signed.
// It does not cover later events, changes before it was signed, or events of streams of others. The hash covers an
// event's id, stream, revision, type, data and metadata, which has our time and the actor. It does not cover the
// event's position and the store's own time, which differ in a copy of the log.
package chain

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// State is the state of a chain: the number of its events, and the hash of the last one.
type State struct {
	Count uint64
	Hash  Hash
}

// Hash is a SHA-256.
type Hash [sha256.Size]byte

// String returns hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText returns hex digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText parses hex digits.
func (h *Hash) UnmarshalText(text []byte) error {
	decoded, err := hex.DecodeString(string(text))
	if err != nil || len(decoded) != len(h) {
		return fmt.Errorf("%d hex digits are needed", 2*len(h))
	}
	copy(h[:], decoded)
	return nil
}

// Start returns the state before the first event.
func Start() State { return State{Hash: sha256.Sum256([]byte("recital audit chain 1"))} }

// Hasher adds events to a state. It is not safe for concurrent use.
type Hasher struct {
	State
	event []byte // kept between events
}

// Add adds an event: its hash is SHA-256(hash before || id || stream || revision || type || data || metadata). The id
// has 16 bytes and the revision 8, and every text is preceded by its length in 8 bytes, big-endian, so that no two
// events have the same bytes.
func (h *Hasher) Add(e eventlog.Recorded) {
	b := append(h.event[:0], h.Hash[:]...)
	b = append(b, e.ID[:]...)
	b = appendText(b, e.Stream)
	b = binary.BigEndian.AppendUint64(b, e.Revision)
	b = appendText(b, e.Type)
	b = appendText(b, e.Data)
	h.event = appendText(b, e.Metadata)
	h.Hash = sha256.Sum256(h.event)
	h.Count++
}

func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(text))), text...)
}

// Newest is the version of the list of our streams that this release signs.
const Newest = 4

// Streams returns a version of the list of streams in the chain, or nil if this release does not know the version. A
// released version never changes, because heads name it. When a release adds streams, its heads
// name a new version, for the events that follow the last head of the previous one.
func Streams(version int) eventlog.Streams {
	added := []eventlog.Streams{{ // by each version
		"account-", "alerts", "apikey-", "audit-acts-", "audit-heads", "audit-reads-", "catalogue", "clip-", "condition-",
		"feedback-", "hosting-", "identity-", "keyring",
		"log-identity", "payment-", "session-", "skips", "stars-", "subscription-", "usage-", "voice-", "voices-",
	}, {"notices-"}, {"pronunciations-"}, {"packages"}}
	if version < 1 || version > len(added) {
		return nil
	}
	return slices.Sorted(slices.Values(slices.Concat(added[:version]...)))
}

// window is the number of heads that are read in advance. A head with a missing last event is given up when the last
// event of one of the next heads arrives.
const window = 64

// track is a series of heads that a log is checked against, in the order of their counts.
type track struct {
	Mark
	config  Config
	pull    func() (LoggedHead, error, bool)
	stop    func()
	ended   bool
	count   uint64             // of the last head that was read
	next    uint64             // revision after it
	queue   []LoggedHead       // at most window
	waiting map[uuid.UUID]bool // the last events of the queue
}

// Mark is the progress in a series of heads.
type Mark struct {
	Good    Place  `json:"good"`              // of the last head that matched
	Differs bool   `json:"differs,omitempty"` // comparison has ended
	Done    uint64 `json:"done"`              // heads that were reached, or given up
	Digest  Hash   `json:"digest"`            // of their signatures
	Refused uint64 `json:"refused,omitempty"` // revision up to which untrusted heads were reported
}

func newTrack(config Config, heads iter.Seq2[LoggedHead, error], next uint64, from Mark) *track {
	pull, stop := iter.Pull2(heads)
	return &track{Mark: from, config: config, pull: pull, stop: stop, count: from.Good.Count, next: next,
		waiting: map[uuid.UUID]bool{}}
}

// skip reads the heads that an earlier check has done.
func (t *track) skip() error {
	var digest Hash
	for range t.Done {
		head, err, ok := t.pull()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		digest = digest.with(head)
	}
	if digest != t.Digest {
		return errors.New("the state is that of a check with other exported heads")
	}
	return nil
}

func (h Hash) with(head LoggedHead) Hash {
	return sha256.Sum256(append(h[:], head.Signature...))
}

// fill reads heads until the window is full. Untrusted ones are refused.
func (t *track) fill(refuse func(LoggedHead, string) error) error {
	for !t.ended && len(t.queue) < window {
		head, err, ok := t.pull()
		if err != nil {
			return err
		}
		if !ok {
			t.ended = true
			break
		}
		t.next = head.Revision + 1
		id, fault := t.judge(head)
		if fault != "" {
			if err := refuse(head, fault); err != nil {
				return err
			}
			continue
		}
		t.count = head.Count
		t.queue = append(t.queue, head)
		t.waiting[id] = true
	}
	return nil
}

// judge returns the id of a head's last event, or the reason why the head is not trusted.
func (t *track) judge(head LoggedHead) (id uuid.UUID, fault string) {
	id, err := uuid.Parse(head.Last.ID)
	var hash Hash
	noHash := hash.UnmarshalText([]byte(head.Hash))
	switch {
	case !slices.Contains(t.config.Keys, head.Key):
		return id, "another key has signed it"
	case !head.Signed():
		return id, "its signature is wrong"
	case head.Log != t.config.Log:
		return id, "it is of another log"
	case head.Count <= t.count:
		return id, "the head before it speaks of as many events"
	case err != nil || noHash != nil || hash.String() != head.Hash:
		return id, "what it says has no sense"
	}
	return id, ""
}

// nextHead returns the revision of the first head that is not done.
func (t *track) nextHead() uint64 {
	if len(t.queue) > 0 {
		return t.queue[0].Revision
	}
	return t.next
}

// take returns the head that ends at a place, if any, and the number of heads before it, which are given up.
func (t *track) take(here Place) (head LoggedHead, passed int, ok bool) {
	passed = slices.IndexFunc(t.queue, func(h LoggedHead) bool {
		return h.Last.ID == here.ID && h.Last.Stream == here.Stream && h.Last.Revision == here.Revision
	})
	if passed < 0 {
		return LoggedHead{}, 0, false
	}
	head = t.queue[passed]
	t.done(passed + 1)
	return head, passed, true
}

func (t *track) done(heads int) {
	for _, head := range t.queue[:heads] {
		delete(t.waiting, uuid.MustParse(head.Last.ID)) // it was parsed before
		t.Digest = t.Digest.with(head)
		t.Done++
	}
	t.queue = slices.Delete(t.queue, 0, heads)
}

// rest returns the number of heads that were not reached and satisfy upTo, and the last one of them.
func (t *track) rest(
	refuse func(LoggedHead, string) error, upTo func(LoggedHead) bool,
) (last LoggedHead, unmet int, err error) {
	for {
		for _, head := range t.queue {
			if upTo(head) {
				last = head
				unmet++
			}
		}
		if t.ended {
			return last, unmet, nil
		}
		t.queue = t.queue[:0]
		if err := t.fill(refuse); err != nil {
			return last, unmet, err
		}
	}
}
