package changes_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/changes"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

func at(n uint64) eventlog.Position { return eventlog.Position{Commit: n, Prepare: n} }

// event returns an event at a position of the log, with the account a1 in its data.
func event(n uint64, stream, eventType string) eventlog.Recorded {
	return eventlog.Recorded{Position: at(n), Stream: stream, Type: eventType, Data: []byte(`{"account":"a1"}`)}
}

func used(n uint64) eventlog.Recorded    { return event(n, "usage-a1-1764000000", "usage-settled") }
func created(n uint64) eventlog.Recorded { return event(n, "account-a1", "account-api-key-created") }

// world is a notifier that starts at position 10 in a synctest bubble, with a gate in front of reads.
type world struct {
	*changes.Notifier
	t    *testing.T
	gate chan struct{} // closed while reads are up to date
}

func inWorld(t *testing.T, cfg changes.Config, do func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, gate: make(chan struct{})}
		close(w.gate)
		cfg.Wait = func(ctx context.Context, _ eventlog.Position) error {
			select {
			case <-w.gate:
			case <-ctx.Done():
			}
			return ctx.Err()
		}
		w.Notifier = changes.New(cfg)
		w.Begin(at(10))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		defer func() {
			cancel()
			require.NoError(t, <-ended)
		}()
		do(w)
	})
}

func (w *world) listen(after string) *changes.Stream {
	w.t.Helper()
	s, err := w.Listen("a1", after)
	require.NoError(w.t, err)
	return s
}

// told returns the changes of a stream within a second, as "usage 12, keys 13", and the position at which the client
// may resume.
func (w *world) told(s *changes.Stream) (said string, position *eventlog.Position) {
	w.t.Helper()
	synctest.Wait()
	told, position, err := s.Next(w.t.Context(), time.Second)
	require.NoError(w.t, err)
	var all []string
	for _, c := range told {
		all = append(all, fmt.Sprint(c.Part, " ", c.Position.Commit))
	}
	return strings.Join(all, ", "), position
}

func (w *world) requireTold(s *changes.Stream, want string) {
	w.t.Helper()
	said, _ := w.told(s)
	require.Equal(w.t, want, said)
}

func TestAStreamBeginsWithAResetAndHasTheChanges(t *testing.T) {
	inWorld(t, changes.Config{}, func(w *world) {
		s := w.listen("")
		w.requireTold(s, "reset 10")
		w.requireTold(s, "")

		w.Note(used(11))
		w.requireTold(s, "usage 11")
		w.Note(event(12, "usage-a2-1764000000", "usage-settled")) // of another account
		said, position := w.told(s)
		require.Empty(t, said)
		require.Equal(t, at(12), *position, "a quiet stream follows the log's position")
	})
}

func TestAChangeIsSentOnceReadsShowIt(t *testing.T) {
	inWorld(t, changes.Config{}, func(w *world) {
		s := w.listen(at(10).String())
		w.gate = make(chan struct{})
		w.Note(used(11))
		said, position := w.told(s)
		require.Empty(t, said)
		require.Nil(t, position, "a client that resumed at the end of the log would miss the change")

		w.Note(created(12)) // during the round
		close(w.gate)
		w.requireTold(s, "usage 11")
		w.requireTold(s, "keys 12")
	})
}

// A part that changes in every round is sent in every round.
func TestAConstantlyChangingPartIsSent(t *testing.T) {
	inWorld(t, changes.Config{}, func(w *world) {
		s := w.listen(at(10).String())
		for n := range uint64(5) {
			w.gate = make(chan struct{})
			w.Note(used(11 + 2*n))
			time.Sleep(time.Second) // the round waits
			w.Note(used(12 + 2*n))
			close(w.gate)
			w.requireTold(s, fmt.Sprint("usage ", 11+2*n))
			w.requireTold(s, fmt.Sprint("usage ", 12+2*n))
		}
	})
}

func TestASlowReaderGetsOneChangeOfEachPart(t *testing.T) {
	inWorld(t, changes.Config{}, func(w *world) {
		s := w.listen(at(10).String())
		for n := range uint64(10_000) {
			w.Note(used(11 + 2*n))
			w.Note(created(12 + 2*n))
			if n%1000 == 0 {
				time.Sleep(time.Second) // a round
			}
		}
		time.Sleep(time.Second)
		w.requireTold(s, "usage 20009, keys 20010")
		w.requireTold(s, "")
	})
}

func TestAStreamResumesOrResets(t *testing.T) {
	for name, c := range map[string]struct{ after, want string }{
		"before the oldest kept change": {"9/9", "reset 13"},
		"at the notifier's start":       {"10/10", "usage 12, keys 13"},
		"in between":                    {"12/12", "keys 13"},
		"at the end":                    {"13/13", ""},
		"past the end":                  {"14/14", "reset 13"},
		"garbage":                       {"13/13\nevent: usage", "reset 13"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, changes.Config{}, func(w *world) {
				for _, e := range []eventlog.Recorded{used(11), used(12), created(13)} {
					w.Note(e)
				}
				w.requireTold(w.listen(c.after), c.want)
			})
		})
	}
}

func TestDroppedChangesResultInAReset(t *testing.T) {
	inWorld(t, changes.Config{Remembered: 2}, func(w *world) {
		w.Note(used(11))
		w.Note(created(12))
		w.Note(event(13, "clip-c1", "clip-saved")) // replaces 11
		w.requireTold(w.listen("10/10"), "reset 13")
		w.requireTold(w.listen("11/11"), "keys 12, clips 13")
	})
}

func TestStreamsHaveBudgets(t *testing.T) {
	inWorld(t, changes.Config{Streams: 3, AccountStreams: 2}, func(w *world) {
		first := w.listen("")
		w.listen("")
		_, err := w.Listen("a1", "")
		require.ErrorIs(t, err, changes.ErrAccountStreams)
		_, err = w.Listen("a2", "")
		require.NoError(t, err)
		_, err = w.Listen("a3", "")
		require.ErrorIs(t, err, changes.ErrStreams)

		first.Close()
		first.Close()
		require.Equal(t, 2, w.Open())
		w.listen("")
		w.Note(used(11)) // the closed stream uses none
	})
}

func TestWhatEventsChange(t *testing.T) {
	for name, c := range map[string]struct{ stream, eventType, want string }{
		"a reservation":             {"usage-a1-1764000000", "usage-reserved", "usage 11"},
		"an account with a hyphen":  {"usage-a1-b-1764000000", "usage-reserved", ""},
		"a key":                     {"account-a1", "account-api-key-revoked", "keys 11"},
		"a plan":                    {"account-a1", "account-entitled", "billing 11"},
		"a spending cap":            {"account-a1", "account-spending-cap-set", "billing 11"},
		"all sessions":              {"account-a1", "account-sessions-revoked", "sessions 11"},
		"preferences":               {"account-a1", "account-email-preferences-set", "account 11"},
		"another account":           {"account-a11", "account-entitled", ""},
		"a session":                 {"session-s1", "session-seen", "sessions 11"},
		"a clip":                    {"clip-c1", "clip-deleted", "clips 11"},
		"a voice":                   {"voice-v1", "voice-ready", "voices 11"},
		"a place for a voice":       {"voices-a1", "voice-place-taken", "voices 11"},
		"a star":                    {"stars-a1", "voice-starred", "voices 11"},
		"a subscription":            {"subscription-a1", "subscription-renewed", "billing 11"},
		"a variable of a project":   {"hosting-a1", "hosting-variable-set", "keys 11"},
		"a snapshot":                {"voice-v1", "voice-snapshot-taken", ""},
		"not readable by clients":   {"notices-a1-1764000000", "notice-mailed", ""},
		"a foreign stream":          {"orders-a1", "order-placed", ""},
		"a stream without a period": {"usage-", "usage-reserved", ""},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, changes.Config{}, func(w *world) {
				s := w.listen(at(10).String())
				w.Note(event(11, c.stream, c.eventType))
				w.requireTold(s, c.want)
			})
		})
	}
}

// No event makes a notifier fail or is sent to another account.
func FuzzNote(f *testing.F) {
	f.Add("usage-a1-1", "usage-settled", `{"account":"a1"}`)
	f.Add("clip-c1", "clip-saved", `{"account":["a2"]}`)
	f.Add("session-", "", "\x00")
	f.Fuzz(func(t *testing.T, stream, eventType, data string) {
		n := changes.New(changes.Config{Wait: func(context.Context, eventlog.Position) error { return nil }})
		n.Begin(at(1))
		n.Note(eventlog.Recorded{Position: at(2), Stream: stream, Type: eventType, Data: []byte(data)})
		if strings.Contains(stream+data, "a2") || strings.Contains(data, `\`) {
			return
		}
		s, err := n.Listen("a2", at(1).String())
		require.NoError(t, err)
		told, position, err := s.Next(t.Context(), time.Nanosecond)
		require.NoError(t, err)
		require.Empty(t, told)
		require.Equal(t, at(2), *position)
	})
}
