package synthesis_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/codec"
	"github.com/recital-tts/recital/internal/testing/longtest"
	"github.com/recital-tts/recital/internal/testing/proptest"
)

// audience is a Listener that records everything.
type audience struct {
	onAudio func(synthesis.Chunk) error // called first; may be nil

	mu     sync.Mutex
	audio  []byte
	chunks []synthesis.Chunk
	heard  []string // the calls in order: "audio" (once for each run of chunks), "flushed 1", "cleared 2"
}

func (a *audience) Audio(c synthesis.Chunk) error {
	if a.onAudio != nil {
		if err := a.onAudio(c); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.audio = append(a.audio, c.Audio...)
	a.chunks = append(a.chunks, c)
	if n := len(a.heard); n == 0 || a.heard[n-1] != "audio" {
		a.heard = append(a.heard, "audio")
	}
	return nil
}

func (a *audience) Flushed(nonce *int64) error { return a.note("flushed", nonce) }
func (a *audience) Cleared(nonce *int64) error { return a.note("cleared", nonce) }

func (a *audience) note(what string, nonce *int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if nonce != nil {
		what = fmt.Sprintf("%s %d", what, *nonce)
	}
	a.heard = append(a.heard, what)
	return nil
}

func (a *audience) told() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.heard)
}

// length returns the number of bytes of audio received.
func (a *audience) length() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.audio)
}

func nonce(n int64) *int64 { return &n }

// talk is a session in progress.
type talk struct {
	*synthesis.Session
	*audience
	ctx   context.Context
	leave context.CancelFunc
	drain func()
	done  chan error
}

func (s *studio) converse(id string, format audio.Format, times bool, listener *audience) *talk {
	s.T.Helper()
	return s.converseIn(order(id, "", format), times, listener)
}

func (s *studio) open(o synthesis.Synthesis, times bool, draining <-chan struct{}) *synthesis.Session {
	s.T.Helper()
	session, err := s.Converse(s.T.Context(), o, times, draining)
	require.NoError(s.T, err)
	return session
}

func (s *studio) converseIn(o synthesis.Synthesis, times bool, listener *audience) *talk {
	s.T.Helper()
	draining := make(chan struct{})
	t := &talk{audience: listener, drain: func() { close(draining) }, done: make(chan error, 1)}
	t.Session = s.open(o, times, draining)
	t.ctx, t.leave = context.WithCancel(context.Background())
	go func() { t.done <- t.Speak(t.ctx, listener) }()
	s.T.Cleanup(func() { t.leave() })
	return t
}

func (t *talk) say(test require.TestingT, pieces ...string) {
	for _, piece := range pieces {
		require.NoError(test, t.Add(t.ctx, piece))
	}
}

// finish ends the session and waits for its end.
func (t *talk) finish(test require.TestingT) {
	require.NoError(test, t.Finish(t.ctx))
	require.NoError(test, <-t.done)
}

func (t *talk) awaitTold(test testing.TB, what string) {
	test.Helper()
	require.Eventually(test, func() bool { return slices.Contains(t.told(), what) }, commandstest.Patience,
		time.Millisecond)
}

func (t *talk) awaitAudio(test testing.TB) {
	test.Helper()
	require.Eventually(test, func() bool { return t.length() > 0 }, commandstest.Patience, time.Millisecond)
}

// inPieces cuts a text into n pieces, also inside words.
func inPieces(text string, n int) (pieces []string) {
	runes := []rune(text)
	for i := range n {
		pieces = append(pieces, string(runes[i*len(runes)/n:(i+1)*len(runes)/n]))
	}
	return pieces
}

func (s *studio) totalOf(id string) (total int64) {
	for _, n := range s.Books(id).SettledBy {
		total += n
	}
	return total
}

func TestASessionSoundsTheSameInPiecesAndWhole(t *testing.T) {
	longtest.Only(t)
	s := newStudio(t)
	id := s.Open("enterprise")
	for _, format := range audio.Formats() {
		t.Run(string(format), func(t *testing.T) {
			whole := s.converse(id, format, false, &audience{})
			whole.say(t, story)
			whole.finish(t)
			pieces := s.converse(id, format, false, &audience{})
			pieces.say(t, inPieces(story, 200)...)
			pieces.finish(t)
			timed := s.converse(id, format, true, &audience{})
			timed.say(t, inPieces(story, 30)...)
			timed.finish(t)

			require.NotEmpty(t, whole.audio)
			require.Equal(t, len(whole.audio), len(pieces.audio))
			require.Equal(t, len(whole.audio), len(timed.audio))
			if format != audio.WebM { // its container has random numbers
				require.True(t, slices.Equal(whole.audio, pieces.audio))
				require.True(t, slices.Equal(whole.audio, timed.audio))
			}
			reply := s.begin(t.Context(), order(id, story, format))
			var spoken buffer
			require.NoError(t, reply.Write(t.Context(), &spoken))
			require.InDelta(t, len(spoken), len(whole.audio), 0.01*float64(len(spoken)), "as the other routes say it")
		})
	}
	s.requireIdle(id)
}

type buffer []byte

func (b *buffer) Write(p []byte) (int, error) { *b = append(*b, p...); return len(p), nil }

func TestASessionSpeaksAtTheFirstClause(t *testing.T) {
	s := newStudio(t)
	id := s.Open("free")
	talk := s.converse(id, audio.Raw, false, &audience{})
	talk.say(t, "Once upon a ", "time there was a café, ", "i")
	talk.awaitAudio(t)
	require.Eventually(t, func() bool { return s.totalOf(id) > 0 }, commandstest.Patience, time.Millisecond)
	require.EqualValues(t, len([]rune("Once upon a time there was a café, ")), s.totalOf(id),
		"what was spoken is settled, though the session goes on")

	talk.say(t, "t was small.")
	talk.finish(t)
	require.EqualValues(t, len([]rune("Once upon a time there was a café, it was small.")), s.totalOf(id))
	head, err := s.Log.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, head, s.models.waited[len(s.models.waited)-1], "the last settlement is waited for")
	s.requireIdle(id)
}

func TestAFlushIsOneReservation(t *testing.T) {
	s := newStudio(t)
	id := s.Open("free")
	talk := s.converse(id, audio.MP3, false, &audience{})
	for n := range int64(3) {
		talk.say(t, "No clause")
		require.NoError(t, talk.Flush(talk.ctx, nonce(n)))
		talk.awaitTold(t, fmt.Sprint("flushed ", n))
		require.EqualValues(t, 9*(n+1), s.totalOf(id), "it is settled before the reply")
	}
	require.Len(t, s.Books(id).SettledBy, 3)
	require.NoError(t, talk.Flush(talk.ctx, nonce(7)))
	talk.finish(t)
	require.Equal(t, []string{"audio", "flushed 0", "audio", "flushed 1", "audio", "flushed 2", "flushed 7", "audio"},
		talk.told())
	require.Len(t, s.Books(id).SettledBy, 3, "an empty flush reserves nothing")
	s.requireIdle(id)
}

// All of the flushed audio arrives before the flush is reported: only silence remains in the encoder.
func TestAFlushKeepsNothingBack(t *testing.T) {
	s := newStudio(t)
	id := s.Open("enterprise")
	for _, format := range []audio.Format{audio.Raw, audio.ULaw, audio.PCMF32LE} {
		talk := s.converse(id, format, false, &audience{})
		talk.say(t, "The end")
		require.NoError(t, talk.Flush(talk.ctx, nonce(1)))
		talk.awaitTold(t, "flushed 1")
		before := talk.length()
		talk.finish(t)
		for _, b := range talk.audio[before:] {
			require.Contains(t, []byte{0x00, 0xff, 0x7f}, b, "%s: a sound came after the flush", format)
		}
	}
	s.requireIdle(id)
}

func TestTimesGoOnOverTheSession(t *testing.T) {
	s := newStudio(t)
	id := s.Open("enterprise")
	for _, format := range []audio.Format{audio.PCMF32LE, audio.Raw} {
		bytesPerMillisecond := 24 * 2
		if format == audio.PCMF32LE {
			bytesPerMillisecond = 24 * 4
		}
		talk := s.converse(id, format, true, &audience{})
		talk.say(t, inPieces(story, 50)...)
		require.NoError(t, talk.Flush(talk.ctx, nonce(1)))
		talk.say(t, "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft 12345678901234567890")
		talk.finish(t)

		var texts strings.Builder
		var end int64
		for i, chunk := range talk.chunks {
			require.LessOrEqual(t, len(chunk.Audio), 70<<10)
			require.InDelta(t, end, chunk.Start, 1, "chunk %d begins where the one before ends", i)
			at := 0.0
			for _, timing := range chunk.Timings {
				require.InDelta(t, at, timing.Start, 1e-9)
				at = timing.Start + timing.Duration
				texts.WriteString(timing.Text)
			}
			end = chunk.Start + int64(at*1000+0.5)
		}
		require.True(t, talk.chunks[len(talk.chunks)-1].BufferEmpty)
		require.Equal(t, story+"Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft "+
			"12345678901234567890", texts.String())
		require.InDelta(t, len(talk.audio)/bytesPerMillisecond, end, 5, "the times fill the audio")
	}
	s.requireIdle(id)
}

func TestWhatCannotBeSpokenCostsASessionNothing(t *testing.T) {
	s := newStudio(t)
	for _, times := range []bool{false, true} {
		id := s.Open("enterprise")
		talk := s.converse(id, audio.Raw, times, &audience{})
		talk.say(t, "Hello.")
		require.NoError(t, talk.Flush(talk.ctx, nonce(1)))
		talk.awaitTold(t, "flushed 1")
		talk.say(t, "… ?!")
		require.NoError(t, talk.Flush(talk.ctx, nonce(2)))
		talk.awaitTold(t, "flushed 2")
		talk.say(t, "Bye.")
		talk.finish(t)
		require.EqualValues(t, len("Hello.Bye."), s.totalOf(id))
		if !times {
			continue
		}
		unspeakable := ""
		for _, chunk := range talk.chunks {
			for _, timing := range chunk.Timings {
				if chunk.Unspeakable {
					unspeakable += timing.Text
				}
			}
		}
		require.Equal(t, "… ?!", unspeakable)
	}
}

func TestAResetStopsTheAudioAndDropsTheText(t *testing.T) {
	s := newStudio(t)
	id := s.Open("enterprise")
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	talk := s.converse(id, audio.MP3, false, &audience{onAudio: func(synthesis.Chunk) error {
		once.Do(func() { close(entered); <-release })
		return nil
	}})
	talk.say(t, strings.Repeat(story+" ", 20))
	require.NoError(t, talk.Flush(talk.ctx, nonce(1)))
	<-entered
	require.NoError(t, talk.Reset(talk.ctx, nonce(2)))
	require.NoError(t, talk.Reset(talk.ctx, nonce(3)))
	close(release)
	talk.awaitTold(t, "cleared 3")
	require.Equal(t, []string{"audio", "flushed 1", "cleared 2", "cleared 3"}, talk.told())
	require.Zero(t, s.totalOf(id), "no segment was delivered over as a whole")

	talk.say(t, "Again.")
	talk.finish(t)
	require.EqualValues(t, 6, s.totalOf(id))
	s.requireIdle(id)
}

func TestAResetOfNothingIsTold(t *testing.T) {
	s := newStudio(t)
	id := s.Open("free")
	talk := s.converse(id, audio.WAV, true, &audience{})
	require.NoError(t, talk.Reset(talk.ctx, nil))
	talk.say(t, "Dropped")
	require.NoError(t, talk.Reset(talk.ctx, nonce(1)))
	talk.awaitTold(t, "cleared 1")
	talk.say(t, "Said.")
	talk.finish(t)
	require.Equal(t, []string{"cleared", "cleared 1", "audio"}, talk.told())
	require.Equal(t, "RIFF", string(talk.audio[:4]), "the header is there once")
	require.EqualValues(t, 5, s.totalOf(id))
	s.requireIdle(id)
}

// Wherever a client disconnects, it pays for the segments that it received completely, and for no other character.
func TestASessionThatIsHungUpSettlesWhatWasTaken(t *testing.T) {
	s := newStudio(t)
	characters, ends := s.segments(story)
	s.Encoders = untouched{}
	id := s.Open("enterprise")
	proptest.Check(t, 4, func(r *rapid.T) {
		takes := rapid.OneOf(rapid.Int64Range(0, ends[len(ends)-1]-1), rapid.SampledFrom(ends[:len(ends)-1])).Draw(r, "bytes")
		byContext := rapid.Bool().Draw(r, "the context ends, too")
		before := s.totalOf(id)
		var taken int64
		listener := &audience{}
		talk := s.converse(id, audio.Raw, false, listener)
		defer talk.leave()
		listener.onAudio = func(c synthesis.Chunk) error {
			if taken+int64(len(c.Audio)) > takes {
				if byContext {
					talk.leave()
				}
				return errHungUp
			}
			taken += int64(len(c.Audio))
			return nil
		}
		talk.say(r, inPieces(story, rapid.IntRange(1, 60).Draw(r, "pieces"))...)
		require.NoError(r, talk.Finish(context.Background()))
		require.ErrorIs(r, <-talk.done, errHungUp)
		var want int64
		for i, end := range ends {
			if end <= takes {
				want += characters[i]
			}
		}
		require.Equal(r, want, s.totalOf(id)-before)
	})
	s.requireIdle(id)
}

// A client may disconnect or reset at any time: the books are correct nevertheless.
func TestASessionThatEndsAtAnyMoment(t *testing.T) {
	s := newStudio(t)
	id := s.Open("enterprise")
	rapid.Check(t, func(r *rapid.T) {
		talk := s.converse(id, audio.MP3, rapid.Bool().Draw(r, "times"), &audience{})
		leaving := time.AfterFunc(time.Duration(rapid.IntRange(0, 20_000).Draw(r, "µs"))*time.Microsecond, talk.leave)
		defer leaving.Stop()
		for _, piece := range inPieces(story, 10) {
			_ = talk.Add(talk.ctx, piece) // it may have ended
			switch rapid.IntRange(0, 6).Draw(r, "then") {
			case 0:
				_ = talk.Flush(talk.ctx, nonce(1))
			case 1:
				require.NoError(t, talk.Reset(talk.ctx, nonce(2)))
			}
		}
		_ = talk.Finish(talk.ctx)
		if err := <-talk.done; err != nil {
			require.ErrorIs(r, err, context.Canceled)
		}
	})
	s.requireIdle(id) // its books check that each reservation was settled once
}

func TestASlowListenerStopsTheSynthesis(t *testing.T) {
	longtest.Only(t)
	s := newStudio(t)
	id := s.Open("enterprise")
	jobs := &counting{Engine: s.engines, real: 2}
	s.Speaker = speech.NewSpeaker(jobs)
	blocked, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	talk := s.converse(id, audio.Raw, false, &audience{onAudio: func(synthesis.Chunk) error {
		once.Do(func() { close(blocked); <-release })
		return nil
	}})
	long := strings.Repeat(story+" ", 120) // almost 60,000 characters
	added := make(chan error, 1)
	go func() {
		var err error
		for _, piece := range inPieces(long, 1000) {
			if err = talk.Add(talk.ctx, piece); err != nil {
				break
			}
		}
		added <- err
	}()
	<-blocked
	require.Eventually(t, func() bool { return s.engines.Stats().Busy == 0 }, commandstest.Patience, time.Millisecond)
	require.LessOrEqual(t, jobs.count(), 2, "one segment ahead of the listener, not more")
	select {
	case <-added:
		t.Fatal("60,000 characters were taken while nothing was spoken")
	default:
	}
	close(release)
	require.NoError(t, <-added)
	talk.finish(t)
	require.EqualValues(t, utf8.RuneCountInString(long), s.totalOf(id))
	s.requireIdle(id)
}

// counting counts the jobs of an engine, and only executes the first of them. The others end immediately.
type counting struct {
	speech.Engine
	real int
	mu   sync.Mutex
	jobs int
}

func (c *counting) Speak(ctx context.Context, job speech.Job) (speech.Utterance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jobs++; c.jobs > c.real {
		return &click{}, nil
	}
	return c.Engine.Speak(ctx, job)
}

// click is the speech of a job that ends immediately.
type click struct{ over bool }

func (c *click) Next(context.Context) ([]byte, error) {
	if c.over {
		return nil, io.EOF
	}
	c.over = true
	return bytes.Repeat([]byte{0, 0x20}, 100), nil
}

func (*click) Marks() []speech.Mark { return nil }
func (*click) Close()               {}

func (c *counting) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.jobs
}

func TestASessionWithoutCharactersIsRefused(t *testing.T) {
	s := newStudio(t)
	id := s.Open("free")
	held := commandstest.Reserve(t, s.Synthesiser.Ledger, id, commandstest.FreeLimit-20)
	talk := s.converse(id, audio.MP3, false, &audience{})
	talk.say(t, "Twenty characters...")
	require.NoError(t, talk.Flush(talk.ctx, nonce(1)))
	talk.awaitTold(t, "flushed 1")
	talk.say(t, "!")
	require.NoError(t, talk.Finish(talk.ctx))
	require.Equal(t, domain.PaymentRequired, domain.CodeOf(<-talk.done))
	require.EqualValues(t, 20, s.totalOf(id))
	commandstest.Settle(t, s.Synthesiser.Ledger, held, 0)
	s.requireIdle(id)
}

// A message may have 256 KiB, of which an account without characters should not have all cut into segments.
func TestTheWorkForARefusedTextDoesNotGrowWithIt(t *testing.T) {
	s := newStudio(t)
	id := s.Open("free")
	commandstest.Reserve(t, s.Synthesiser.Ledger, id, commandstest.FreeLimit)
	refuse := func(characters int) (bytes uint64) {
		var before, after runtime.MemStats
		talk := s.converse(id, audio.MP3, false, &audience{})
		runtime.ReadMemStats(&before)
		talk.say(t, strings.Repeat("Hello again, my friend. ", characters/24))
		require.Equal(t, domain.PaymentRequired, domain.CodeOf(<-talk.done))
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	require.Less(t, refuse(240_000), 4*refuse(12_000))
}

func TestADrainFinishesWhatWasFlushed(t *testing.T) {
	s := newStudio(t)
	id := s.Open("free")
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	talk := s.converse(id, audio.WAV, false, &audience{onAudio: func(synthesis.Chunk) error {
		once.Do(func() { close(entered); <-release })
		return nil
	}})
	talk.say(t, "This was flushed.")
	require.NoError(t, talk.Flush(talk.ctx, nonce(1)))
	<-entered
	talk.say(t, "This, too.")
	require.NoError(t, talk.Flush(talk.ctx, nonce(2)))
	talk.say(t, "This was not, and it never will be. So it is.")
	talk.drain()
	talk.say(t, "Late. Too late.")
	close(release)
	require.ErrorIs(t, <-talk.done, synthesis.ErrDrained)
	told := talk.told()
	require.Equal(t, []string{"audio", "flushed 1", "audio", "flushed 2"}, told[:4])
	require.EqualValues(t, len("This was flushed.This, too."), s.totalOf(id))
	s.requireIdle(id)

	idle := s.converse(id, audio.WAV, false, &audience{})
	idle.say(t, "Never said")
	idle.drain()
	require.ErrorIs(t, <-idle.done, synthesis.ErrDrained)
	require.Empty(t, idle.told())
	s.requireIdle(id)
}

func TestEnginesThatAreKilledUnderASession(t *testing.T) {
	s := newDoomedStudio(t)
	id := s.Open("enterprise")
	for _, times := range []bool{true, false} {
		var once sync.Once
		talk := s.converse(id, audio.MP3, times, &audience{onAudio: func(synthesis.Chunk) error {
			once.Do(func() { killChildren(t, "engine") })
			return nil
		}})
		talk.say(t, inPieces(story, 40)...)
		require.NoError(t, talk.Finish(talk.ctx))
		err := <-talk.done
		if err == nil {
			require.EqualValues(t, utf8.RuneCountInString(story), lastTotal(s, id))
		} else {
			require.ErrorIs(t, err, speech.ErrEngineFailed)
			s.requireIdle(id)
			lastTotal(s, id) // is not of the next session
		}
		require.Eventually(t, func() bool { return s.engines.Stats().Alive == 2 }, commandstest.Patience, time.Millisecond)
	}
	s.requireIdle(id)
}

// lastTotal returns the characters settled since the last call.
func lastTotal(s *studio, id string) int64 {
	total := s.totalOf(id)
	before := s.seen
	s.seen = total
	return total - before
}

func TestACodecThatDiesEndsTheSession(t *testing.T) {
	s := newDoomedStudio(t)
	id := s.Open("free")
	var once sync.Once
	talk := s.converse(id, audio.MP3, false, &audience{onAudio: func(synthesis.Chunk) error {
		once.Do(func() { killChildren(t, "codec") })
		return nil
	}})
	talk.say(t, story)
	require.NoError(t, talk.Finish(talk.ctx))
	require.ErrorIs(t, <-talk.done, codec.ErrCodecFailed)
	s.requireIdle(id)
}

func TestALanguageIsHeardFromTheText(t *testing.T) {
	s := newStudio(t)
	id := s.Open("free")
	heard := &listening{Engine: s.engines}
	s.Speaker = speech.NewSpeaker(heard)
	o := order(id, "", audio.Raw)
	o.Language = speech.AutoLanguage
	session := s.open(o, false, nil)
	done := make(chan error, 1)
	go func() { done <- session.Speak(t.Context(), &audience{}) }()
	require.NoError(t, session.Add(t.Context(), "Это было давно, и никто не знает когда. Yes!"))
	require.NoError(t, session.Finish(t.Context()))
	require.NoError(t, <-done)
	require.Equal(t, []string{"ru"}, slices.Compact(heard.languages))
	s.requireIdle(id)
}

type listening struct {
	speech.Engine
	mu        sync.Mutex
	languages []string
}

func (l *listening) Speak(ctx context.Context, job speech.Job) (speech.Utterance, error) {
	l.mu.Lock()
	l.languages = append(l.languages, job.Language)
	l.mu.Unlock()
	return l.Engine.Speak(ctx, job)
}

func TestASessionEndsWithItsContext(t *testing.T) {
	s := newStudio(t)
	id := s.Open("free")
	why := errors.New("the session has lasted too long")
	ctx, cancel := context.WithCancelCause(t.Context())
	session := s.open(order(id, "", audio.MP3), false, nil)
	done := make(chan error, 1)
	go func() { done <- session.Speak(ctx, &audience{}) }()
	cancel(why)
	require.ErrorIs(t, <-done, why)
	s.requireIdle(id)
}

// With a slow listener a flush is split into several reservations, so that none expires before it is settled. A
// listener that is too slow for a single segment is disconnected.
func TestASlowListenerNeverOutlivesItsReservation(t *testing.T) {
	longtest.Only(t)
	s := newStudio(t)
	id := s.Open("enterprise")
	speak := func(longest, pause time.Duration) error {
		keeper := ledger.New(s.Journal, s.Accounts, s.Clock.Now, longest)
		t.Cleanup(keeper.Close)
		s.Synthesiser.Ledger = keeper
		var once sync.Once
		talk := s.converse(id, audio.Raw, false, &audience{onAudio: func(synthesis.Chunk) error {
			once.Do(func() { <-time.After(pause) })
			return nil
		}})
		talk.say(t, strings.Repeat(story+" ", 5))
		require.NoError(t, talk.Finish(talk.ctx))
		return <-talk.done
	}
	require.NoError(t, speak(10*time.Second, 5*time.Second)) // more than half of the maximum of a unit
	books := s.Books(id)
	require.GreaterOrEqual(t, len(books.SettledBy), 2)
	require.EqualValues(t, 5*(utf8.RuneCountInString(story)+1), books.Settled)

	err := speak(200*time.Millisecond, 400*time.Millisecond)
	require.Equal(t, domain.Invalid, domain.CodeOf(err), "%v", err)
	s.requireIdle(id)
}

// A quiet client's encoder is returned, after the client has received the buffered audio of an unflushed clause. Later
// audio is as if the encoder had stayed.
func TestAQuietSessionGivesItsEncoderBack(t *testing.T) {
	s := newStudio(t)
	id := s.Open("enterprise")
	for i, format := range audio.Formats() {
		times := i%2 == 0 // whatever the format: they do not depend on the encoder
		t.Run(fmt.Sprintf("%s, times %t", format, times), func(t *testing.T) {
			speak := func(quiet bool) (heard []byte) {
				s.QuietEncoder = time.Hour
				if quiet {
					s.QuietEncoder = time.Millisecond
				}
				talk := s.converse(id, format, times, &audience{})
				for i := range int64(3) {
					talk.say(t, "Once upon a time.")
					require.NoError(t, talk.Flush(talk.ctx, nonce(i)))
					talk.awaitTold(t, fmt.Sprint("flushed ", i))
					if quiet {
						require.Eventually(t, func() bool { return s.codecs.Stats().Streams == 0 }, commandstest.Patience,
							time.Millisecond)
					}
				}
				talk.finish(t)
				require.Equal(t, format == audio.WAV || format == audio.ULaw, strings.Count(string(talk.audio), "RIFF") == 1)
				return talk.audio
			}
			steady, rested := speak(false), speak(true)
			require.InDelta(t, len(steady), len(rested), 0.1*float64(len(steady)))
		})
	}
	s.requireIdle(id)
}

func TestAQuietSessionHearsWhatTheEncoderHeld(t *testing.T) {
	s := newStudio(t)
	s.QuietEncoder = time.Millisecond
	id := s.Open("free")
	// given a clause that is spoken without a flush
	talk := s.converse(id, audio.MP3, false, &audience{})
	talk.say(t, "Once upon a time there was a café, i")
	require.Eventually(t, func() bool { return s.totalOf(id) > 0 && s.codecs.Stats().Streams == 0 }, commandstest.Patience,
		time.Millisecond)
	before := talk.length()
	// when the session ends without a further word, then no audio of the clause remains to be delivered
	talk.drain()
	require.ErrorIs(t, <-talk.done, synthesis.ErrDrained)
	require.Equal(t, before, talk.length())

	whole := s.begin(t.Context(), order(id, "Once upon a time there was a café, ", audio.MP3))
	var spoken buffer
	require.NoError(t, whole.Write(t.Context(), &spoken))
	require.GreaterOrEqual(t, before, len(spoken)-3*192, "three frames of silence may be missing")
	s.requireIdle(id)
}
