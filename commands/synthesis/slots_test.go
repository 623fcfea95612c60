package synthesis_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/http/rates"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/testing/proptest"
)

func requireBusy(t require.TestingT, err error, limit int) {
	var busy *synthesis.BusyError
	require.ErrorAs(t, err, &busy)
	require.Equal(t, limit, busy.Limit)
}

func TestSlotsAreCountedByAccountAndPlan(t *testing.T) {
	// given a limit on one plan only
	slots := synthesis.NewSlots(map[plan.Type]int{plan.Free: 2, plan.Pro: 0})
	take := func(account string, on plan.Type) *synthesis.Slot {
		t.Helper()
		slot, err := slots.Try(account, on)
		require.NoError(t, err)
		return slot
	}

	// when an account has taken the slots of its plan, then it gets no more, and others do
	first := take("a", plan.Free)
	second := take("a", plan.Free)
	current, limit := second.Concurrency()
	require.Equal(t, []int{2, 2}, []int{current, limit})
	_, err := slots.Try("a", plan.Free)
	requireBusy(t, err, 2)
	other := take("b", plan.Free)
	for range 100 {
		current, limit := take("c", plan.Pro).Concurrency()
		require.Equal(t, []int{0, 0}, []int{current, limit})
		take("d", plan.Enterprise).Release()
	}
	require.Equal(t, 2, slots.Busy(), "what is not limited is not counted")

	// when one is released, repeatedly, then there is room for one
	first.Release()
	first.Release()
	third := take("a", plan.Free)
	_, err = slots.Try("a", plan.Free)
	requireBusy(t, err, 2)

	// when all are released, then no state remains
	for _, slot := range []*synthesis.Slot{second, third, other} {
		slot.Release()
	}
	require.Zero(t, slots.Busy())

	// and without limits everything is permitted
	slot, err := (*synthesis.Slots)(nil).Try("a", plan.Free)
	require.NoError(t, err)
	slot.Release()
}

func TestWhoWaitsForASlotGetsItInTurn(t *testing.T) {
	slots := synthesis.NewSlots(map[plan.Type]int{plan.Free: 1})
	held, err := slots.Try("a", plan.Free)
	require.NoError(t, err)

	// given three waiters
	turns := make(chan int, 3)
	taken := make([]*synthesis.Slot, 3)
	leave := make([]context.CancelFunc, 3)
	failed := make(chan error, 3)
	var waiting sync.WaitGroup
	for i := range 3 {
		var ctx context.Context
		ctx, leave[i] = context.WithCancel(t.Context())
		defer leave[i]()
		waiting.Go(func() {
			slot, err := slots.Take(ctx, "a", plan.Free)
			if err != nil {
				failed <- err
				return
			}
			taken[i] = slot
			turns <- i
		})
		require.Eventually(t, func() bool { return slots.Waiting("a") == i+1 }, commandstest.Patience, time.Millisecond)
	}

	// when the second leaves, then the others get slots, in order
	leave[1]()
	require.ErrorIs(t, <-failed, context.Canceled)
	held.Release()
	require.Equal(t, 0, <-turns)
	_, err = slots.Try("a", plan.Free)
	requireBusy(t, err, 1)
	taken[0].Release()
	require.Equal(t, 2, <-turns)
	waiting.Wait()
	taken[2].Release()
	require.Zero(t, slots.Busy())
}

// For any order of tries, waits, abandoned waits and releases, no account has more slots than its plan permits, a free
// slot is available to any caller, and in the end no state remains.
func TestSlotsNeverLeak(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		most := rapid.IntRange(1, 3).Draw(r, "limit")
		plans := []plan.Type{plan.Free}
		slots := synthesis.NewSlots(map[plan.Type]int{plan.Free: most, plan.Indie: most + 2})
		if rapid.Bool().Draw(r, "accounts change their plans") {
			plans, most = append(plans, plan.Indie), most+2
		}
		accounts := []string{"a", "b"}
		var running [2]atomic.Int64
		var tasks sync.WaitGroup
		for range rapid.IntRange(1, 30).Draw(r, "tasks") {
			i := rapid.IntRange(0, 1).Draw(r, "account")
			on := rapid.SampledFrom(plans).Draw(r, "plan")
			patient := rapid.Bool().Draw(r, "waits")
			leaves := time.Duration(rapid.IntRange(0, 300).Draw(r, "µs")) * time.Microsecond
			tasks.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), leaves)
				defer cancel()
				var slot *synthesis.Slot
				var err error
				if patient {
					slot, err = slots.Take(ctx, accounts[i], on)
				} else {
					slot, err = slots.Try(accounts[i], on)
				}
				if err != nil {
					return
				}
				defer slot.Release()
				if n := running[i].Add(1); n > int64(most) {
					t.Errorf("%d at once", n)
				}
				defer running[i].Add(-1)
				<-ctx.Done()
			})
		}
		tasks.Wait()
		require.Zero(r, slots.Busy())
	})
}

// free returns a synthesis of an account on the limited plan.
func free(id, text string, format audio.Format) synthesis.Synthesis {
	o := order(id, text, format)
	o.Plan = plan.Free
	return o
}

func TestAReplyHoldsASlotFromItsReservationToItsEnd(t *testing.T) {
	s := newStudio(t)
	s.Slots = synthesis.NewSlots(map[plan.Type]int{plan.Free: 2})
	id := s.Open("free")

	// given the maximum number of replies of the plan
	first := s.begin(t.Context(), free(id, story, audio.MP3))
	ctx, leave := context.WithCancel(t.Context())
	second := s.begin(ctx, free(id, "Hello.", audio.MP3))
	current, limit := second.Concurrency()
	require.Equal(t, []int{2, 2}, []int{current, limit})

	// then another one is refused, without a reservation
	before := len(s.Books(id).Events)
	_, err := s.Begin(t.Context(), free(id, "Hello.", audio.MP3))
	requireBusy(t, err, 2)
	require.Len(t, s.Books(id).Events, before)

	// when one is abandoned, then another one is served
	leave()
	var third *synthesis.Reply
	require.Eventually(t, func() bool {
		third, err = s.Begin(t.Context(), free(id, "Hello.", audio.MP3))
		return err == nil
	}, commandstest.Patience, time.Millisecond)

	// and a client that sends a request after a reply has ended is never refused
	require.NoError(t, third.Write(t.Context(), io.Discard))
	for range 5 {
		require.NoError(t, s.begin(t.Context(), free(id, "Hello.", audio.MP3)).Write(t.Context(), io.Discard))
		reply := s.begin(t.Context(), collected(free(id, "Hello.", audio.MP3)))
		_, err := reply.Whole(t.Context())
		require.NoError(t, err)
		reply.Release()
	}
	require.NoError(t, first.Write(t.Context(), io.Discard))
	require.Zero(t, s.Slots.Busy())
	s.requireIdle(id)
}

// breaks is a client that panics after a number of bytes, like a bug in the delivery.
type breaks struct{ after int }

func (b *breaks) Write(p []byte) (int, error) {
	if b.after -= len(p); b.after < 0 {
		panic("the connection's code is broken")
	}
	return len(p), nil
}

// unopened are encoders that cannot be opened.
type unopened struct{ audio.Encoders }

var errNoEncoder = errors.New("there is no encoder")

func (unopened) Open(context.Context, audio.Spec, int) (audio.Encoder, error) {
	return nil, errNoEncoder
}

// After any end of replies, in any number, their slots are released.
func TestNoEndOfAReplyKeepsItsSlot(t *testing.T) {
	s := newStudio(t)
	s.Slots = synthesis.NewSlots(map[plan.Type]int{plan.Free: 3})
	broken := s.Synthesiser
	broken.Encoders = unopened{}
	id, poor := s.Open("enterprise"), s.Open("free")
	held := commandstest.Reserve(t, s.Synthesiser.Ledger, poor, commandstest.FreeLimit)
	end := map[string]func(ctx context.Context, leave context.CancelFunc, takes int) error{
		"written": func(ctx context.Context, _ context.CancelFunc, _ int) error {
			return s.speakTo(ctx, id, io.Discard)
		},
		"hung up": func(ctx context.Context, _ context.CancelFunc, takes int) error {
			return s.speakTo(ctx, id, &client{takes: int64(takes)})
		},
		"hung up and left": func(ctx context.Context, leave context.CancelFunc, takes int) error {
			return s.speakTo(ctx, id, &client{takes: int64(takes), then: leave})
		},
		"panic": func(ctx context.Context, _ context.CancelFunc, takes int) (err error) {
			defer func() {
				if cause := recover(); cause != nil {
					err = fmt.Errorf("panic: %v", cause)
				}
			}()
			return s.speakTo(ctx, id, &breaks{after: takes})
		},
		"whole": func(ctx context.Context, _ context.CancelFunc, _ int) error {
			reply, err := s.Begin(ctx, collected(free(id, story, audio.MP3)))
			if err == nil {
				_, err = reply.Whole(ctx)
			}
			return err
		},
		"given up": func(ctx context.Context, leave context.CancelFunc, _ int) error {
			_, err := s.Begin(ctx, free(id, story, audio.MP3))
			leave()
			return err
		},
		"left at any moment": func(ctx context.Context, _ context.CancelFunc, takes int) error {
			ctx, cancel := context.WithTimeout(ctx, time.Duration(takes)*time.Microsecond)
			defer cancel()
			return s.speakTo(ctx, id, io.Discard)
		},
		"no encoder": func(ctx context.Context, _ context.CancelFunc, _ int) error {
			_, err := broken.Begin(ctx, free(id, story, audio.MP3))
			return err
		},
		"no characters": func(ctx context.Context, _ context.CancelFunc, _ int) error {
			_, err := s.Begin(ctx, free(poor, story, audio.MP3))
			if !errors.As(err, new(*synthesis.BusyError)) { // of four concurrent ones
				require.Equal(t, domain.PaymentRequired, domain.CodeOf(err))
			}
			return err
		},
		"no engine": func(ctx context.Context, leave context.CancelFunc, _ int) error {
			leave()
			_, err := s.Begin(ctx, free(id, story, audio.MP3))
			return err
		},
	}
	var names []string
	for name := range end {
		names = append(names, name)
	}
	proptest.Check(t, 4, func(r *rapid.T) {
		var replies sync.WaitGroup
		for range rapid.IntRange(1, 6).Draw(r, "replies") {
			name := rapid.SampledFrom(names).Draw(r, "end")
			takes := rapid.IntRange(0, 12_000).Draw(r, "bytes or µs")
			replies.Go(func() {
				ctx, leave := context.WithCancel(context.Background())
				defer leave()
				_ = end[name](ctx, leave, takes)
			})
		}
		replies.Wait()
		require.Eventually(r, func() bool { return s.Slots.Busy() == 0 }, commandstest.Patience, time.Millisecond)
	})
	commandstest.Settle(t, s.Synthesiser.Ledger, held, 0)
}

func (s *studio) speakTo(ctx context.Context, id string, w io.Writer) error {
	reply, err := s.Begin(ctx, free(id, story, audio.MP3))
	if err != nil {
		return err
	}
	return reply.Write(ctx, w)
}

// converseFree opens a session of an account on the limited plan.
func (s *studio) converseFree(id string, listener *audience) *talk {
	s.T.Helper()
	return s.converseIn(free(id, "", audio.Raw), false, listener)
}

// Each unit appends to the log, so units count like requests.
func TestTheUnitsOfASessionHaveTheRateOfTheirAccount(t *testing.T) {
	s := newStudio(t)
	s.Rates = rates.New(rates.Limits{Accounts: map[string]int{"free": 2}})
	id := s.Open("free")
	session := s.converseFree(id, &audience{})
	begun := time.Now()
	const units = 14 // a burst of eight, then two a second
	for i := range units {
		session.say(t, "Hm. ")
		require.NoError(t, session.Flush(session.ctx, nonce(int64(i))))
	}
	require.NoError(t, session.Finish(session.ctx))
	require.NoError(t, <-session.done)
	require.GreaterOrEqual(t, time.Since(begun), 3*time.Second)
	require.Len(t, s.Books(id).SettledBy, units)
}

func TestSessionsTakeTurnsAndIdleOnesTakeNone(t *testing.T) {
	s := newStudio(t)
	s.Slots = synthesis.NewSlots(map[plan.Type]int{plan.Free: 1})
	id := s.Open("free")

	// given a session that is speaking to a client that accepts no audio
	goesOn := make(chan struct{})
	first := s.converseFree(id, &audience{onAudio: func(synthesis.Chunk) error { <-goesOn; return nil }})
	first.say(t, "Hello there. ")
	require.NoError(t, first.Flush(first.ctx, nonce(1)))
	require.Eventually(t, func() bool { return s.Slots.Busy() == 1 }, commandstest.Patience, time.Millisecond)

	// then others wait with all their text and no reservation, and requests are refused
	second, third := s.converseFree(id, &audience{}), s.converseFree(id, &audience{})
	for i, waits := range []*talk{second, third} {
		waits.say(t, "One two three. ", "Four five six. ")
		require.NoError(t, waits.Flush(waits.ctx, nonce(2)))
		require.Eventually(t, func() bool { return s.Slots.Waiting(id) == i+1 }, commandstest.Patience, time.Millisecond)
	}
	_, err := s.Begin(t.Context(), free(id, "Hello.", audio.MP3))
	requireBusy(t, err, 1)
	require.Eventually(t, func() bool { return len(s.Books(id).Open) > 0 }, commandstest.Patience, time.Millisecond)
	require.Len(t, s.Books(id).Open, 1)

	// when one of those resets, then the reset is confirmed immediately
	require.NoError(t, third.Reset(third.ctx, nonce(3)))
	third.awaitTold(t, "cleared 3")
	require.Zero(t, third.length())

	// when the first has spoken, then the next one speaks, although the first session is still open
	close(goesOn)
	first.awaitTold(t, "flushed 1")
	second.awaitTold(t, "flushed 2")
	require.Positive(t, second.length())
	third.say(t, "Seven eight nine. ")
	third.finish(t)
	require.Positive(t, third.length())

	// and idle sessions block no others
	require.Zero(t, s.Slots.Busy())
	require.NoError(t, s.begin(t.Context(), free(id, "Hello.", audio.MP3)).Write(t.Context(), io.Discard))
	first.finish(t)
	second.finish(t)
	s.requireIdle(id)
}

func TestASessionThatGoesWhileItWaitsForItsTurn(t *testing.T) {
	s := newStudio(t)
	s.Slots = synthesis.NewSlots(map[plan.Type]int{plan.Free: 1})
	id := s.Open("free")
	held := s.begin(t.Context(), free(id, "Hello.", audio.MP3))
	waits := s.converseFree(id, &audience{})
	waits.say(t, "One two three.")
	require.NoError(t, waits.Flush(waits.ctx, nil))
	require.Eventually(t, func() bool { return s.Slots.Waiting(id) == 1 }, commandstest.Patience, time.Millisecond)
	waits.leave()
	require.ErrorIs(t, <-waits.done, context.Canceled)
	require.Zero(t, s.Slots.Waiting(id))
	require.NoError(t, held.Write(t.Context(), io.Discard))
	require.Zero(t, s.Slots.Busy())
	s.requireIdle(id)
}

func TestASessionFollowsThePlanOfItsAccount(t *testing.T) {
	// given a free account with an open session
	s := newStudio(t)
	s.Slots = synthesis.NewSlots(map[plan.Type]int{plan.Free: 1})
	id := s.Open("free")
	speaker := s.converseFree(id, &audience{})
	say := func(n int64) {
		speaker.say(t, "One two three. ")
		require.NoError(t, speaker.Flush(speaker.ctx, nonce(n)))
		speaker.awaitTold(t, fmt.Sprint("flushed ", n))
	}
	say(1)

	// when it buys a plan without a limit on its syntheses
	now := s.Clock.Now()
	_, err := s.Accounts.Entitle(t.Context(), id, plan.Entitlement{Plan: plan.Pro, Start: now, End: now.AddDate(0, 1, 0),
		Next: plan.Pro}, 1, uuid.New())
	require.NoError(t, err)
	s.Must(s.Synthesiser.Ledger.FollowEntitlement(t.Context(), id, uuid.New()))
	say(2)

	// then the session does not wait
	held := s.begin(t.Context(), free(id, "Hello.", audio.MP3))
	require.Equal(t, 1, s.Slots.Busy())
	say(3)
	require.NoError(t, held.Write(t.Context(), io.Discard))
	speaker.finish(t)
	s.requireIdle(id)
}
