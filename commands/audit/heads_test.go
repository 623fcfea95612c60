package audit_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	commands "github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/chain"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/memlog"
	"github.com/recital-tts/recital/internal/events/logcopy"
	"github.com/recital-tts/recital/internal/testing/proptest"
)

// chained is a log with signed heads.
type chained struct {
	t       testing.TB
	journal *journal.Journal
	log     string
	key     ed25519.PrivateKey
	now     time.Time
	every   uint64

	mu    sync.Mutex
	found []chain.Finding
}

func newChained(t testing.TB) *chained {
	t.Helper()
	client := memlog.New()
	registry, err := eventlog.NewRegistry(commands.Events()...)
	require.NoError(t, err)
	return &chained{
		t: t, journal: &journal.Journal{Log: client, Registry: registry}, log: "0190b0c0-1111-7000-8000-00000000000a",
		key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize)),
		now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), every: 10,
	}
}

// instance returns the Heads of one instance.
func (c *chained) instance() *commands.Heads {
	return commands.NewHeads(commands.HeadsConfig{
		Journal: c.journal, Log: c.log, Key: c.key, Every: c.every, Now: func() time.Time { return c.now },
		Logger: slog.New(slog.DiscardHandler),
		Mismatch: func(_ context.Context, f chain.Finding) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.found = append(c.found, f)
		},
	})
}

// happen appends events to several streams in turn, including one of another application.
func (c *chained) happen(count int) {
	c.t.Helper()
	streams := []string{"account-a1", "usage-a1-2026", "orders-7", "session-" + uuid.NewString(), "account-a2"}
	for i := range count {
		c.append(streams[i%len(streams)], eventlog.Proposed{
			ID: uuid.New(), Type: "thing-happened", Data: fmt.Appendf(nil, `{"n":%d}`, i), Metadata: []byte(`{"v":1}`),
		})
	}
}

func (c *chained) append(stream string, event eventlog.Proposed) {
	c.t.Helper()
	end := eventlog.NoStream
	for last, err := range c.journal.Log.ReadStreamBackwards(c.t.Context(), stream) {
		require.NoError(c.t, err)
		end = eventlog.Revision(last.Revision)
		break
	}
	_, err := c.journal.Log.Append(c.t.Context(), stream, end, []eventlog.Proposed{event})
	require.NoError(c.t, err)
}

func (c *chained) events() (events []eventlog.Recorded) {
	c.t.Helper()
	for event, err := range logcopy.Read(c.t.Context(), c.journal.Log, eventlog.Start(), eventlog.Start()) {
		require.NoError(c.t, err)
		events = append(events, event)
	}
	return events
}

func headsOf(events []eventlog.Recorded) (heads []chain.LoggedHead) {
	for _, event := range events {
		if event.Stream == audit.HeadStream {
			heads = append(heads, chain.LoggedHeadOf(event))
		}
	}
	return heads
}

// check verifies events against the heads among them, and against others that were exported before.
func (c *chained) check(events []eventlog.Recorded, exported []chain.LoggedHead) chain.Report {
	c.t.Helper()
	report, err := c.tryCheck(events, exported)
	require.NoError(c.t, err)
	return report
}

func (c *chained) tryCheck(events []eventlog.Recorded, exported []chain.LoggedHead) (chain.Report, error) {
	verifier, err := chain.NewVerifier(c.config(events, exported, nil))
	if err != nil {
		return chain.Report{}, err
	}
	defer verifier.Close()
	for _, event := range events {
		if err := verifier.Add(event); err != nil {
			return chain.Report{}, err
		}
	}
	return verifier.End(events[len(events)-1].Position)
}

func (c *chained) config(events []eventlog.Recorded, exported []chain.LoggedHead, from *chain.Checkpoint) chain.Config {
	return chain.Config{
		Log: c.log, Keys: []string{hex.EncodeToString(c.key.Public().(ed25519.PublicKey))}, From: from,
		Heads: func(from uint64) iter.Seq2[chain.LoggedHead, error] {
			return func(yield func(chain.LoggedHead, error) bool) {
				for _, head := range headsOf(events) {
					if head.Revision >= from && !yield(head, nil) {
						return
					}
				}
			}
		},
		Exported: func(yield func(audit.Head, error) bool) {
			for _, head := range exported {
				if !yield(head.Head, nil) {
					return
				}
			}
		},
	}
}

func TestHeadsSpeakOfEveryEvent(t *testing.T) {
	// given a log that has no heads yet
	c := newChained(t)
	c.happen(43)

	// when it is signed, then there is a head for every ten events of ours, and one for the last
	signer := c.instance()
	require.NoError(t, signer.Run(t.Context()))
	require.Len(t, headsOf(c.events()), 4)
	report := c.check(c.events(), nil)
	require.Empty(t, report.Findings)
	require.True(t, report.Intact())
	require.EqualValues(t, 4, report.Heads)
	require.EqualValues(t, 9, report.Foreign)
	require.EqualValues(t, 34+4, report.Events)
	require.EqualValues(t, 4, report.Uncovered, "the heads themselves are in the chain, and are signed with the next one")

	// and without further events it gets no more
	require.NoError(t, signer.Run(t.Context()))
	require.NoError(t, c.instance().Run(t.Context()))
	require.Len(t, headsOf(c.events()), 4)

	// and later events are signed, also by another instance, which reads from the last head
	c.happen(3)
	require.NoError(t, c.instance().Run(t.Context()))
	c.happen(3)
	require.Error(t, signer.Run(t.Context()), "another instance has signed, so it gives way")
	require.NoError(t, signer.Run(t.Context()))
	report = c.check(c.events(), headsOf(c.events()))
	require.Empty(t, report.Findings)
	require.EqualValues(t, 6, report.Heads)
	require.EqualValues(t, 6, report.Exported)
	require.Empty(t, c.found)
}

// Concurrent instances, even interrupted ones, sign heads that match the log.
func TestInstancesThatSignAtOnce(t *testing.T) {
	c := newChained(t)
	c.every = 3
	c.happen(30)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			signer := c.instance()
			for range 20 {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				_ = signer.Run(ctx)
				cancel()
			}
			for err := signer.Run(t.Context()); err != nil; err = signer.Run(t.Context()) {
				assert.Equal(t, domain.Conflict, domain.CodeOf(err))
			}
		})
	}
	wait.Wait()
	report := c.check(c.events(), nil)
	require.Empty(t, report.Findings)
	require.True(t, report.Intact())
	require.Empty(t, c.found)
}

// Any single change in the log is found, with its place.
func TestWhateverIsChangedInTheLogIsFound(t *testing.T) {
	c := newChained(t)
	for range 6 {
		c.happen(25)
		require.NoError(t, c.instance().Run(t.Context()))
	}
	events := c.events()
	heads := headsOf(events)
	whole := c.check(events, heads)
	require.Empty(t, whole.Findings)

	proptest.Check(t, 2, func(r *rapid.T) {
		// given exported heads, and a change before the last one
		signed := heads[len(heads)-1]
		end := slices.IndexFunc(events, func(e eventlog.Recorded) bool { return e.ID.String() == signed.Last.ID })
		at := rapid.IntRange(0, end).Filter(func(i int) bool { return chain.Streams(1).Include(events[i].Stream) }).Draw(r,
			"event")
		changed := slices.Clone(events)
		kinds := []chain.Kind{chain.Altered}
		switch what := rapid.SampledFrom([]string{"data", "metadata", "type", "id", "revision", "stream", "drop", "insert",
			"swap", "repeat", "cut", "heads"}).Draw(r, "change"); what {
		case "data":
			changed[at].Data = append(slices.Clone(changed[at].Data), ' ')
		case "metadata":
			changed[at].Metadata = []byte(`{"v":1,"time":"2026-11-22T12:00:00Z"}`)
		case "type":
			changed[at].Type += "s"
		case "id":
			changed[at].ID = uuid.New()
		case "revision":
			changed[at].Revision++
		case "stream":
			changed[at].Stream = "account-a3"
		case "drop":
			changed = slices.Delete(changed, at, at+1)
			kinds = []chain.Kind{chain.Removed, chain.Cut}
		case "insert":
			more := changed[at]
			more.ID, more.Revision = uuid.New(), 0
			more.Stream = "clip-1"
			changed = slices.Insert(changed, at, more)
			kinds = []chain.Kind{chain.Added}
		case "repeat":
			if at == end {
				r.Skip("what follows the last head is not signed yet")
			}
			changed = slices.Insert(changed, at, changed[at])
			// before a head's last event the head is met early; a duplicate of a head is not one
			kinds = []chain.Kind{chain.Added, chain.Altered, chain.Forged}
		case "swap":
			other := rapid.IntRange(0, end).Filter(func(i int) bool {
				return i != at && chain.Streams(1).Include(events[i].Stream)
			}).Draw(r, "other")
			changed[at], changed[other] = changed[other], changed[at]
			kinds = append(kinds, chain.Removed, chain.Added, chain.Cut)
		case "cut":
			changed = changed[:max(at, 1)]
			kinds = []chain.Kind{chain.Cut}
		case "heads":
			at = end
			changed = slices.DeleteFunc(changed, func(e eventlog.Recorded) bool { return e.Stream == audit.HeadStream })
			kinds = []chain.Kind{chain.Removed, chain.Cut}
		}
		if kinds[0] == chain.Altered {
			// a changed head, or a changed last event of a head, no longer is one
			kinds = append(kinds, chain.Cut, chain.Forged, chain.Removed)
		}

		// then it is found, also with the exported heads alone
		report, err := c.tryCheck(changed, heads)
		if err != nil {
			r.Fatal(err)
		}
		if report.Intact() {
			r.Fatalf("nothing was found")
		}
		first := report.Findings[0]
		if !slices.Contains(kinds, first.Kind) {
			r.Fatalf("found %s", first)
		}
		// and it is within the part of the log that is named
		place := uint64(0)
		for _, e := range events[:at] {
			if chain.Streams(1).Include(e.Stream) {
				place++
			}
		}
		if first.Kind != chain.Forged && first.After.Count > place+1 {
			r.Fatalf("event %d was changed, and %s was found", place, first)
		}
	})
}

// If the heads of a log are missing, or were signed again with the same key, only exported heads prove it.
func TestAHistoryThatIsSignedAnewIsFoundByExportedHeads(t *testing.T) {
	c := newChained(t)
	c.happen(40)
	require.NoError(t, c.instance().Run(t.Context()))
	exported := headsOf(c.events())

	// given the log without its heads and with another event, signed again
	other := newChained(t)
	for i, event := range c.events() {
		if event.Stream == audit.HeadStream {
			continue
		}
		if i == 21 {
			event.Data = []byte(`{"n":-1}`)
		}
		other.append(event.Stream, eventlog.Proposed{ID: event.ID, Type: event.Type, Data: event.Data,
			Metadata: event.Metadata})
	}
	require.NoError(t, other.instance().Run(t.Context()))

	// then its own heads match, and the exported ones do not
	require.True(t, other.check(other.events(), nil).Intact())
	report := other.check(other.events(), exported)
	require.Len(t, report.Findings, 1)
	require.True(t, report.Findings[0].Exported)
	require.Equal(t, chain.Altered, report.Findings[0].Kind)
	require.EqualValues(t, 10, report.Findings[0].After.Count)
	require.EqualValues(t, 20, report.Findings[0].Until.Count)

	// and modified exported heads are refused
	exported[1].Hash = exported[0].Hash
	_, err := other.tryCheck(other.events(), exported)
	require.ErrorContains(t, err, "the exported head of 20 events is not to be trusted: its signature is wrong")
}

// Heads that were written without the key are neither trusted nor continued.
func TestAHeadOfAnotherKeyIsNotBelieved(t *testing.T) {
	c := newChained(t)
	c.happen(20)
	require.NoError(t, c.instance().Run(t.Context()))
	forged := headsOf(c.events())[0].Head
	forged.Count = 1 << 60
	data, err := json.Marshal(forged.Sign(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))))
	require.NoError(t, err)
	c.append(audit.HeadStream, eventlog.Proposed{ID: uuid.New(), Type: "audit-head-signed", Data: data,
		Metadata: []byte(`{"v":1,"actor":{"kind":"system"}}`)})
	c.happen(20)
	require.NoError(t, c.instance().Run(t.Context()))

	report := c.check(c.events(), nil)
	require.EqualValues(t, 4, report.Heads)
	require.Len(t, report.Findings, 1)
	require.Equal(t, chain.Forged, report.Findings[0].Kind)
	require.Contains(t, report.Findings[0].String(), "another key has signed it")
}

// With both keys of a replaced and restored key, the log is found intact, and a change in it is found.
func TestTheKeyIsReplaced(t *testing.T) {
	c := newChained(t)
	former, next := c.key, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))
	for _, key := range []ed25519.PrivateKey{former, next, former} {
		c.key = key
		c.happen(43)
		require.NoError(t, c.instance().Run(t.Context()))
	}
	check := func(events []eventlog.Recorded) chain.Report {
		t.Helper()
		config := c.config(events, nil, nil)
		config.Keys = nil
		for _, key := range []ed25519.PrivateKey{former, next} {
			config.Keys = append(config.Keys, hex.EncodeToString(key.Public().(ed25519.PublicKey)))
		}
		verifier, err := chain.NewVerifier(config)
		require.NoError(t, err)
		defer verifier.Close()
		for _, event := range events {
			require.NoError(t, verifier.Add(event))
		}
		report, err := verifier.End(events[len(events)-1].Position)
		require.NoError(t, err)
		return report
	}
	events := c.events()
	report := check(events)
	require.Empty(t, report.Findings)
	require.EqualValues(t, len(headsOf(events)), report.Heads)
	require.Empty(t, c.found)

	for i, event := range events {
		if event.Stream == "account-a1" {
			events[i].Data = []byte(`{"n":-1}`)
			require.NotEmpty(t, check(events).Findings, "event %d", i)
			events[i] = event
		}
	}
}

// Uncovered events are counted on every instance, including one that signs none.
func TestWhatIsNotSignedIsCounted(t *testing.T) {
	c := newChained(t)
	other := c.instance()
	unsigned := func(limit int) commands.Unsigned {
		t.Helper()
		u, err := other.Unsigned(t.Context(), limit)
		require.NoError(t, err)
		return u
	}
	require.Zero(t, unsigned(100), "an empty log")

	c.happen(15) // including three of another application
	u := unsigned(100)
	require.Zero(t, u.Head)
	require.Equal(t, 12, u.Events)
	require.Equal(t, c.events()[0].Created, u.Oldest)
	require.Equal(t, 5, unsigned(5).Events)

	require.NoError(t, c.instance().Run(t.Context()))
	u = unsigned(100)
	require.EqualValues(t, 12, u.Head.Count)
	require.Zero(t, u.Events)
	require.Zero(t, u.Oldest)

	c.happen(5)
	events := c.events()
	u = unsigned(100)
	require.Equal(t, 4, u.Events)
	require.Equal(t, events[len(events)-5].Created, u.Oldest)
	require.Equal(t, u.Oldest, unsigned(1).Oldest)
}

// An instance reports a log that does not match its heads.
func TestAnInstanceComparesTheLogWithItsHeads(t *testing.T) {
	c := newChained(t)
	c.happen(40)
	require.NoError(t, c.instance().Run(t.Context()))

	for name, change := range map[string]struct {
		at    int
		event func(*eventlog.Proposed) bool // false removes it
		want  chain.Kind
	}{
		"an event that was changed": {14, func(e *eventlog.Proposed) bool { e.Data = []byte(`{"n":-1}`); return true },
			chain.Altered},
		"an event that was removed":     {15, func(*eventlog.Proposed) bool { return false }, chain.Removed},
		"the last event that is signed": {39, func(*eventlog.Proposed) bool { return false }, chain.Removed},
	} {
		t.Run(name, func(t *testing.T) {
			other := newChained(t)
			for i, event := range c.events() {
				proposed := eventlog.Proposed{ID: event.ID, Type: event.Type, Data: event.Data, Metadata: event.Metadata}
				if i != change.at || change.event(&proposed) {
					other.append(event.Stream, proposed)
				}
			}
			_ = other.instance().Run(t.Context())
			require.NotEmpty(t, other.found)
			require.Equal(t, change.want, other.found[0].Kind)
		})
	}
}

// An interrupted check continues, with the same result.
func TestACheckGoesOnWhereItWasInterrupted(t *testing.T) {
	c := newChained(t)
	for range 4 {
		c.happen(25)
		require.NoError(t, c.instance().Run(t.Context()))
	}
	events := c.events()
	exported := headsOf(events)
	events[37].Data = []byte(`{"n":-1}`)
	events = slices.Delete(events, 61, 62)
	want := c.check(events, exported)
	require.Len(t, want.Findings, 2)

	proptest.Check(t, 4, func(r *rapid.T) {
		var from *chain.Checkpoint
		for at := 0; at < len(events); {
			verifier, err := chain.NewVerifier(c.config(events, exported, from))
			if err != nil {
				r.Fatal(err)
			}
			next := rapid.IntRange(at+1, len(events)).Draw(r, "until")
			for ; at < next; at++ {
				if err := verifier.Add(events[at]); err != nil {
					r.Fatal(err)
				}
			}
			kept, err := json.Marshal(verifier.Checkpoint())
			if err != nil {
				r.Fatal(err)
			}
			from = &chain.Checkpoint{}
			if err := json.Unmarshal(kept, from); err != nil {
				r.Fatal(err)
			}
			if at == len(events) {
				got, err := verifier.End(events[at-1].Position)
				if err != nil {
					r.Fatal(err)
				}
				for i := range got.Findings { // revisions are followed within one run
					got.Findings[i].Detail = want.Findings[i].Detail
				}
				if !assert.ObjectsAreEqual(want, got) {
					r.Fatalf("%+v instead of %+v", got, want)
				}
			}
			_ = verifier.Close()
		}
	})

	// but not with other exported heads
	verifier, err := chain.NewVerifier(c.config(events, exported, nil))
	require.NoError(t, err)
	defer verifier.Close()
	for _, event := range events {
		require.NoError(t, verifier.Add(event))
	}
	at := verifier.Checkpoint()
	_, err = chain.NewVerifier(c.config(events, exported[1:], &at))
	require.ErrorContains(t, err, "other exported heads")
}
