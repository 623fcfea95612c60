package audit

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/chain"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logcopy"
)

const (
	// checkEvery is the interval between checks of the newest part of the log against the heads, after the one at the
	// start.
	checkEvery = 24 * time.Hour
	// checkedAge is the age of the head with which this part begins.
	checkedAge = 24 * time.Hour
)

// HeadsConfig configures Heads.
type HeadsConfig struct {
	Journal *journal.Journal
	Log     string // id
	Key     ed25519.PrivateKey
	Every   uint64 // maximum number of events between heads, at least 1
	Now     func() time.Time
	Logger  *slog.Logger
	// Mismatch is called if the log does not match its heads.
	Mismatch func(context.Context, chain.Finding)
}

// Heads signs heads of the chain. One of several instances does so at a time; if two do, one of them gives way. Except
// for Unsigned and From, it is not safe for concurrent use.
type Heads struct {
	HeadsConfig
	key     string // public
	known   bool   // the fields below are set
	head    audit.Head
	hasher  chain.Hasher
	after   eventlog.Position // of the last event read
	signed  eventlog.Position // position up to which there may be heads of other keys
	last    audit.LastEvent   // the last event of ours
	news    bool              // an event other than a head was read since the last head
	checked time.Time         // when the log was last compared with its heads
}

// NewHeads returns a Heads. It does not read the log yet.
func NewHeads(config HeadsConfig) *Heads {
	return &Heads{HeadsConfig: config, key: hex.EncodeToString(config.Key.Public().(ed25519.PublicKey))}
}

// PublicKey returns the public key of the heads, in hex.
func (h *Heads) PublicKey() string { return h.key }

// Run signs the new events of the log, and compares the log with earlier heads at the first call and then daily. It
// continues from the last head that was signed with its key, so that an interrupted call costs little, and all calls
// together read the log once. A log without new events gets no head.
func (h *Heads) Run(ctx context.Context) error {
	if !h.known {
		if err := h.resume(ctx); err != nil {
			return err
		}
	}
	if err := h.sign(ctx); err != nil {
		return err
	}
	if h.checked.IsZero() || h.Now().Sub(h.checked) >= checkEvery {
		return h.check(ctx)
	}
	return nil
}

// Rest discards the progress. It is called by an instance that no longer leads.
func (h *Heads) Rest() { h.known = false }

func (h *Heads) resume(ctx context.Context) error {
	state, _, err := journal.Load(ctx, h.Journal, h.stream())
	if err != nil {
		return err
	}
	h.head, h.hasher.State, h.after, h.news = state.Last, chain.Start(), eventlog.Start(), false
	if state.Last.Count > 0 {
		h.hasher.State, h.after, err = h.at(ctx, state.Last)
	}
	if err == nil {
		h.signed, err = h.lastOfAnyKey(ctx)
	}
	h.known = err == nil
	return err
}

// lastOfAnyKey returns the position of the last head of any key. After a key was replaced, or restored, no head is
// signed that covers fewer events than its predecessors: counts grow along the stream.
func (h *Heads) lastOfAnyKey(ctx context.Context) (eventlog.Position, error) {
	for event, err := range h.Journal.Log.ReadStreamBackwards(ctx, audit.HeadStream) {
		return event.Position, err
	}
	return eventlog.Start(), nil
}

// at returns the state of the chain at a head, and the head's position in the log.
func (h *Heads) at(ctx context.Context, head audit.Head) (chain.State, eventlog.Position, error) {
	state := chain.State{Count: head.Count}
	if err := state.Hash.UnmarshalText([]byte(head.Hash)); err != nil {
		return state, eventlog.Position{}, fmt.Errorf("the hash of the head of %d events: %w", head.Count, err)
	}
	position, found, err := h.position(ctx, head.Last)
	if err != nil || found {
		return state, position, err
	}
	h.Mismatch(ctx, chain.Finding{Kind: chain.Removed, Events: 1, Head: head.Count, Signed: head.At,
		Detail: "the last event of that head is missing"})
	return state, eventlog.Position{}, lastIsGone(head)
}

// position returns the position of an event in the log.
func (h *Heads) position(ctx context.Context, last audit.LastEvent) (at eventlog.Position, found bool, err error) {
	for event, err := range h.Journal.Log.ReadStream(ctx, last.Stream, last.Revision) {
		if err != nil {
			return eventlog.Position{}, false, err
		}
		return event.Position, event.ID.String() == last.ID && event.Revision == last.Revision, nil
	}
	return eventlog.Position{}, false, nil
}

func lastIsGone(head audit.Head) error {
	return fmt.Errorf("event %d of %s, the last one of the head of %d events, is not in the log", head.Last.Revision,
		head.Last.Stream, head.Count)
}

// Unsigned describes the events that the last head does not cover.
type Unsigned struct {
	Head   audit.Head // the last one of our key; zero before the first
	Events int        // after it, without heads
	Oldest time.Time  // when the first of them was written; zero for none
}

// Unsigned describes the events that no head of our key covers, counted up to a limit. It may be called on any
// instance, at any time.
func (h *Heads) Unsigned(ctx context.Context, limit int) (u Unsigned, err error) {
	state, _, err := journal.Load(ctx, h.Journal, h.stream())
	if err != nil {
		return u, err
	}
	u.Head = state.Last
	after := eventlog.Start()
	if u.Head.Count > 0 {
		var found bool
		if after, found, err = h.position(ctx, u.Head.Last); err == nil && !found {
			err = lastIsGone(u.Head)
		}
		if err != nil {
			return u, err
		}
	}
	streams := chain.Streams(chain.Newest)
	for event, err := range logcopy.Read(ctx, h.Journal.Log, after, eventlog.Start()) {
		if err != nil || u.Events == limit {
			return u, err
		}
		if event.Stream == audit.HeadStream || !streams.Include(event.Stream) {
			continue
		}
		if u.Events++; u.Events == 1 {
			u.Oldest = event.Created
		}
	}
	return u, nil
}

func (h *Heads) sign(ctx context.Context) error {
	streams := chain.Streams(chain.Newest)
	for event, err := range logcopy.Read(ctx, h.Journal.Log, h.after, eventlog.Start()) {
		if err != nil {
			return err
		}
		h.after = event.Position
		if !streams.Include(event.Stream) {
			continue
		}
		h.hasher.Add(event)
		h.last = audit.LastEvent{ID: event.ID.String(), Stream: event.Stream, Revision: event.Revision}
		h.news = h.news || event.Stream != audit.HeadStream
		if h.hasher.Count-h.head.Count >= h.Every && h.after.Compare(h.signed) >= 0 {
			if err := h.append(ctx); err != nil {
				return err
			}
		}
	}
	return h.append(ctx)
}

// append appends a head of all events read, if there are new ones.
func (h *Heads) append(ctx context.Context) error {
	if !h.news {
		return nil
	}
	at := h.Now().UTC()
	head := audit.Head{
		Log: h.Log, Count: h.hasher.Count, Hash: h.hasher.Hash.String(), Streams: chain.Newest, Last: h.last, At: at,
	}.Sign(h.Key)
	command := audit.AppendHead{Head: head, After: h.head.Count}
	_, _, err := journal.Execute(ctx, h.Journal, h.stream(), command, journal.System().Metadata(uuid.New(), at))
	if domain.CodeOf(err) == domain.Conflict {
		h.Rest()
		return fmt.Errorf("signing a head: %w", err)
	}
	if err == nil {
		h.head, h.news = head, false
	}
	return err
}

// stream returns the stream of heads, read back to the last one of our key. It ignores heads that were signed with
// another key, or written by others.
func (h *Heads) stream() journal.Stream[audit.HeadState, audit.Event] {
	ours := func(event audit.Event) bool {
		head, ok := event.(audit.Head)
		return ok && head.Key == h.key && head.Log == h.Log && head.Signed()
	}
	return journal.Stream[audit.HeadState, audit.Event]{
		Name: audit.HeadStream,
		Evolve: func(s audit.HeadState, event audit.Event) audit.HeadState {
			if !ours(event) {
				return s
			}
			return audit.EvolveHeads(s, event)
		},
		IsSnapshot: ours,
	}
}

// check compares the newest part of the log with the heads of our key, from one that is a day old, or from the first
// one.
func (h *Heads) check(ctx context.Context) error {
	base, found, err := h.base(ctx)
	if err != nil || !found {
		return err
	}
	state, after, err := h.at(ctx, base.Head)
	if err != nil {
		return err
	}
	begun := h.Now()
	verifier, err := chain.NewVerifier(chain.Config{
		Log: h.Log, Keys: []string{h.key},
		Heads: func(from uint64) iter.Seq2[chain.LoggedHead, error] { return h.ours(ctx, from) },
		From: &chain.Checkpoint{
			Log: h.Log, Keys: []string{h.key}, State: state, NextHead: base.Revision + 1,
			Logged: chain.Mark{Good: chain.Place{Count: base.Count, Position: after, ID: base.Last.ID, Stream: base.Last.Stream,
				Revision: base.Last.Revision}},
		},
	})
	if err != nil {
		return err
	}
	defer verifier.Close()
	for event, err := range logcopy.Read(ctx, h.Journal.Log, after, h.after) {
		if err == nil {
			err = verifier.Add(event)
		}
		if err != nil {
			return err
		}
	}
	report, err := verifier.End(h.after)
	if err != nil {
		return err
	}
	h.checked = begun
	for _, finding := range report.Findings {
		h.Logger.ErrorContext(ctx, "the log does not match its signed heads", "finding", finding.String())
		h.Mismatch(ctx, finding)
	}
	return nil
}

// base returns the newest head of our key that is old enough to begin a check with, or the first one.
func (h *Heads) base(ctx context.Context) (base chain.LoggedHead, found bool, err error) {
	before := h.Now().Add(-checkedAge)
	for recorded, err := range h.Journal.Log.ReadStreamBackwards(ctx, audit.HeadStream) {
		if err != nil {
			return base, false, err
		}
		head := chain.LoggedHeadOf(recorded)
		if head.Key != h.key || head.Log != h.Log || !head.Signed() {
			continue
		}
		base, found = head, true
		if head.At.Before(before) {
			break
		}
	}
	return base, found, nil
}

// ours yields the heads of our key.
func (h *Heads) ours(ctx context.Context, from uint64) iter.Seq2[chain.LoggedHead, error] {
	return func(yield func(chain.LoggedHead, error) bool) {
		for head, err := range h.From(ctx, from) {
			if err == nil && head.Key != h.key {
				continue
			}
			if !yield(head, err) {
				return
			}
		}
	}
}

// From yields the heads of the log from a revision of their stream.
func (h *Heads) From(ctx context.Context, revision uint64) iter.Seq2[chain.LoggedHead, error] {
	return func(yield func(chain.LoggedHead, error) bool) {
		for recorded, err := range h.Journal.Log.ReadStream(ctx, audit.HeadStream, revision) {
			if !yield(chain.LoggedHeadOf(recorded), err) {
				return
			}
		}
	}
}
