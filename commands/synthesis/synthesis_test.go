package synthesis_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb/esdbtest"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/codec"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/testing/proptest"
)

// story has several segments, of different lengths, not all of them in ASCII.
const story = "Once upon a time there was a café. It was small, and nobody knew where it stood; but the " +
	"coffee, they said, was good. " +
	"“Twice a year”, said the owner, “I close the doors, and I walk along the river until I have " +
	"forgotten every recipe.” " +
	"His guests did not mind, as long as he came back before the first frost and lit the stove in the corner. " +
	"One autumn he did not come. Then it rained for 40 days."

// models stands in for the read models, and records the awaited positions.
type models struct {
	mu     sync.Mutex
	waited []eventlog.Position
	never  bool // the position is never reached
}

func (m *models) Wait(ctx context.Context, position eventlog.Position, models ...readmodel.Model) error {
	if !slices.Equal(models, []readmodel.Model{readmodel.Usage}) {
		return fmt.Errorf("waiting for %v, but only usage shows a settlement", models)
	}
	m.mu.Lock()
	m.waited = append(m.waited, position)
	m.mu.Unlock()
	if m.never {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// studio is a world that synthesises texts with the real processes.
type studio struct {
	*commandstest.World
	synthesis.Synthesiser
	engines *worker.Pool
	codecs  *codec.Pool
	models  *models
	seen    int64 // settled characters that lastTotal has returned
}

func newStudio(t testing.TB) *studio { return newStudioIn(t, commandstest.New(t)) }

// newDoomedStudio returns a studio with processes of its own, which the test kills.
func newDoomedStudio(t testing.TB) *studio {
	t.Helper()
	processes.StartOwn(t)
	return newStudio(t)
}

func newStudioIn(t testing.TB, w *commandstest.World) *studio {
	t.Helper()
	processes.Start(t)
	s := &studio{World: w, engines: processes.Engines, codecs: processes.Codecs, models: &models{}}
	s.Synthesiser = synthesis.Synthesiser{
		Ledger: w.Ledger(), Voices: &enginetest.SystemVoices{}, Speaker: speech.NewSpeaker(s.engines),
		Encoders: audio.NewEncoders(s.codecs), ReadModels: s.models,
		Spool:        openSpool(t, 1<<30, 64<<20),
		QuietEncoder: time.Hour, // on a slow machine a pause in a test is not a quiet client
	}
	return s
}

func openSpool(t testing.TB, budget, most int64) *spool.Spool {
	t.Helper()
	s, err := spool.Open(spool.Config{Dir: t.TempDir(), Budget: budget, MaxFile: most})
	require.NoError(t, err)
	return s
}

// collected is an order whose audio is collected by Whole.
func collected(o synthesis.Synthesis) synthesis.Synthesis {
	o.Whole = true
	return o
}

func order(id, text string, format audio.Format) synthesis.Synthesis {
	return synthesis.Synthesis{
		Account: id, Origin: commandstest.Operator(), Text: text, Voice: "leah", Language: "en-us", Speed: 1,
		Audio: audio.Spec{Format: format, SampleRate: 24000},
	}
}

func (s *studio) begin(ctx context.Context, order synthesis.Synthesis) *synthesis.Reply {
	s.T.Helper()
	reply, err := s.Begin(ctx, order)
	require.NoError(s.T, err)
	return reply
}

// requireIdle requires that replies have left no reservation, engine job or codec stream.
func (s *studio) requireIdle(id string) {
	s.T.Helper()
	require.Eventually(s.T, func() bool {
		engines := s.engines.Stats()
		return engines.Busy == 0 && engines.Queued == 0 && s.codecs.Stats().Streams == 0
	}, commandstest.Patience, time.Millisecond, "a process still works for a reply that has ended")
	require.Eventually(s.T, func() bool { return len(s.Books(id).Open) == 0 }, commandstest.Patience, time.Millisecond,
		"a reservation is still open")
}

// segments returns the numbers of characters of a text's segments, and their ends in the engine's samples, in bytes.
func (s *studio) segments(text string) (characters, ends []int64) {
	s.T.Helper()
	o := order("", text, audio.Raw)
	voice, err := new(speech.Catalogue).Find(o.Voice)
	require.NoError(s.T, err)
	stream := s.Speaker.Speak(s.T.Context(), speech.Request{Text: o.Text, Voice: voice, Language: o.Language,
		Speed: o.Speed})
	defer stream.Close()
	var came int64
	for {
		piece, err := stream.Next(s.T.Context())
		if errors.Is(err, io.EOF) {
			return characters, ends
		}
		require.NoError(s.T, err)
		came += int64(len(piece.PCM))
		if piece.SegmentEnd {
			characters, ends = append(characters, int64(piece.Characters)), append(ends, came)
		}
	}
}

// untouched are encoders that return the samples, so that tests know the segment of each byte.
type untouched struct{}

func (untouched) Open(context.Context, audio.Spec, int) (audio.Encoder, error) {
	return untouched{}, nil
}
func (untouched) Encode(_ context.Context, pcm []byte) ([]byte, error) { return pcm, nil }
func (untouched) Finish(context.Context) ([]byte, error)               { return nil, nil }
func (untouched) Rest(context.Context) error                           { return nil }
func (untouched) Wake(context.Context) error                           { return nil }
func (untouched) Close()                                               {}

var errHungUp = errors.New("the client has hung up")

// client reads a number of bytes and disconnects.
type client struct {
	takes int64
	taken bytes.Buffer
	then  func() // called once, when it disconnects; may be nil
}

func (c *client) Write(p []byte) (int, error) {
	if int64(c.taken.Len()+len(p)) > c.takes {
		if c.then != nil {
			c.then()
			c.then = nil
		}
		return 0, errHungUp
	}
	return c.taken.Write(p)
}

func TestAReplyIsSettledInFull(t *testing.T) {
	s := newStudio(t)
	for _, format := range audio.Formats() {
		t.Run(string(format), func(t *testing.T) {
			id := s.Open("free")
			reply := s.begin(t.Context(), order(id, story, format))
			require.EqualValues(t, utf8.RuneCountInString(story), reply.Characters())
			require.EqualValues(t, reply.Characters(), s.Books(id).Reserved, "before the first byte")

			var got bytes.Buffer
			require.NoError(t, reply.Write(t.Context(), &got))

			require.NotZero(t, got.Len())
			require.Equal(t, map[string]int64{reply.ID(): reply.Characters()}, s.Books(id).SettledBy)
			head, err := s.Log.Head(t.Context())
			require.NoError(t, err)
			require.Equal(t, head, s.models.waited[len(s.models.waited)-1], "the settlement is waited for")
			require.Error(t, reply.Write(t.Context(), &got), "a reply is carried out once")
			s.requireIdle(id)
		})
	}
}

func TestARecordingIsWhole(t *testing.T) {
	s := newStudio(t)
	id := s.Open("free")
	recording, err := s.begin(t.Context(), collected(order(id, story, audio.WAV))).Whole(t.Context())
	require.NoError(t, err)

	var texts strings.Builder
	for _, timing := range recording.Timings {
		texts.WriteString(timing.Text)
	}
	require.Equal(t, story, texts.String())
	last := recording.Timings[len(recording.Timings)-1]
	require.InDelta(t, float64(recording.Audio.Size()-44)/2/24000, last.Start+last.Duration, 0.01)
	head, err := s.Log.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, head, recording.Position)
	require.False(t, recording.Stale)
	require.EqualValues(t, utf8.RuneCountInString(story), s.Books(id).Settled)

	s.models.never = true
	recording, err = s.begin(t.Context(), collected(order(id, "Again.", audio.WAV))).Whole(t.Context())
	require.NoError(t, err)
	require.True(t, recording.Stale)
	s.requireIdle(id)
}

// A client that disconnects anywhere pays for the segments that it received completely, and for no other character.
func TestAReplyWhoseFirstAudioIsAwaitedLosesNothing(t *testing.T) {
	// given the same text twice
	s := newStudio(t)
	id := s.Open("indie")
	var plain, awaited bytes.Buffer
	require.NoError(t, s.begin(t.Context(), order(id, story, audio.PCMS16LE)).Write(t.Context(), &plain))

	// when the first audio of the second one is awaited
	reply := s.begin(t.Context(), order(id, story, audio.PCMS16LE))
	require.NoError(t, reply.AwaitAudio(t.Context()))
	require.NoError(t, reply.Write(t.Context(), &awaited))

	// then it is the same audio
	require.Equal(t, plain.Bytes(), awaited.Bytes())

	// and a text without audio is not an error
	require.NoError(t, s.begin(t.Context(), order(id, "   ", audio.PCMS16LE)).AwaitAudio(t.Context()))
}

func TestAHangUpSettlesWhatWasTaken(t *testing.T) {
	s := newStudio(t)
	characters, ends := s.segments(story)
	require.Greater(t, len(ends), 2)
	s.Encoders = untouched{}
	id := s.Open("enterprise")
	proptest.Check(t, 4, func(r *rapid.T) {
		takes := rapid.OneOf(
			rapid.Int64Range(0, ends[len(ends)-1]-1),
			rapid.Map(rapid.SampledFrom(ends), func(end int64) int64 { return end - 1 }),
			rapid.SampledFrom(ends[:len(ends)-1]),
		).Draw(r, "bytes")
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		reply := s.begin(ctx, order(id, story, audio.Raw))
		hangsUp := &client{takes: takes}
		if rapid.Bool().Draw(r, "the context ends, too") {
			hangsUp.then = cancel
		}

		require.ErrorIs(r, reply.Write(ctx, hangsUp), errHungUp)

		var want int64
		for i, end := range ends {
			if end <= takes {
				want += characters[i]
			}
		}
		settled, found := s.Books(id).SettledBy[reply.ID()]
		require.True(r, found)
		require.Equal(r, want, settled)
	})
	s.requireIdle(id)
}

// Text that the engine cannot speak is silence in the reply, and free.
func TestWhatCannotBeSpokenCostsNothing(t *testing.T) {
	s := newStudio(t)
	id := s.Open("free")
	for _, text := range []string{"…", "?!", " ", "\u200b\u200d", strings.Repeat("… ", 1500)} {
		for _, whole := range []bool{false, true} {
			o := order(id, text, audio.Raw)
			o.Whole = whole
			reply := s.begin(t.Context(), o)
			require.Equal(t, speech.NothingToSay, reply.Warning())
			if !whole {
				var heard bytes.Buffer
				require.NoError(t, reply.Write(t.Context(), &heard))
				require.Equal(t, make([]byte, heard.Len()), heard.Bytes())
				require.NotZero(t, heard.Len())
			} else {
				recording, err := reply.Whole(t.Context())
				require.NoError(t, err)
				require.NotEmpty(t, recording.Timings)
				reply.Release()
			}
			require.Zero(t, s.Books(id).SettledBy[reply.ID()])
			require.Contains(t, s.Books(id).SettledBy, reply.ID())
		}
	}
	said := s.begin(t.Context(), order(id, "Hello. "+strings.Repeat("… ", 1500)+"Bye now.", audio.Raw))
	require.Empty(t, said.Warning())
	require.NoError(t, said.Write(t.Context(), io.Discard))
	require.Greater(t, s.Books(id).SettledBy[said.ID()], int64(len("Hello. Bye now.")))
	require.Less(t, s.Books(id).SettledBy[said.ID()], int64(1500), "segments in which nothing is said do not count")
	s.requireIdle(id)
}

func TestAHangUpWithARealEncoder(t *testing.T) {
	s := newStudio(t)
	characters, _ := s.segments(story)
	sums := map[int64]bool{0: true}
	var sum int64
	for _, n := range characters {
		sum += n
		sums[sum] = true
	}
	id := s.Open("enterprise")
	var last int64
	for _, takes := range []int64{0, 1_000, 10_000, 20_000, 40_000} {
		reply := s.begin(t.Context(), order(id, story, audio.MP3))
		require.ErrorIs(t, reply.Write(t.Context(), &client{takes: takes}), errHungUp)
		settled := s.Books(id).SettledBy[reply.ID()]
		require.True(t, sums[settled], "%d characters are no whole segments", settled)
		require.GreaterOrEqual(t, settled, last)
		last = settled
	}
	require.Positive(t, last)
	s.requireIdle(id)
}

func TestWhatDoesNotFitIsRefusedAtOnce(t *testing.T) {
	s := newStudio(t)
	id := s.Open("free")
	held := commandstest.Reserve(t, s.Synthesiser.Ledger, id, commandstest.FreeLimit)
	_, err := s.Begin(t.Context(), order(id, story, audio.MP3))
	require.Equal(t, domain.PaymentRequired, domain.CodeOf(err))
	require.Len(t, s.Books(id).Open, 1)

	commandstest.Settle(t, s.Synthesiser.Ledger, held, 0)
	s.requireIdle(id)
}

// stuck is an engine that never says anything.
type stuck struct{ speech.Engine }

func (stuck) Speak(ctx context.Context, _ speech.Job) (speech.Utterance, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A text with a length is measured as a whole, which takes seconds of processor time.
func TestATextThatDoesNotFitIsNotMeasured(t *testing.T) {
	s := newStudio(t)
	s.Speaker = speech.NewSpeaker(stuck{s.engines})
	id := s.Open("free")
	commandstest.Reserve(t, s.Synthesiser.Ledger, id, commandstest.FreeLimit)
	fitted := order(id, story, audio.MP3)
	fitted.Length = 60
	ctx, cancel := context.WithTimeout(t.Context(), commandstest.Patience)
	defer cancel()
	_, err := s.Begin(ctx, fitted)
	require.Equal(t, domain.PaymentRequired, domain.CodeOf(err))
	require.NoError(t, ctx.Err(), "the refusal waited for the measurement")
}

func TestAClientThatGoesBeforeTheFirstByte(t *testing.T) {
	s := newStudio(t)
	id := s.Open("free")
	ctx, leave := context.WithCancel(t.Context())
	reply := s.begin(ctx, order(id, story, audio.MP3))

	leave()
	s.requireIdle(id)
	require.Equal(t, map[string]int64{reply.ID(): 0}, s.Books(id).SettledBy)
	require.ErrorIs(t, reply.Write(ctx, io.Discard), context.Canceled)
	_, err := reply.Whole(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

// A client may disconnect at any time: before, during or after the reply.
func TestAClientThatGoesAtAnyMoment(t *testing.T) {
	s := newStudio(t)
	id := s.Open("enterprise")
	rapid.Check(t, func(r *rapid.T) {
		ctx, leave := context.WithTimeout(context.Background(),
			time.Duration(rapid.IntRange(0, 12_000).Draw(r, "µs"))*time.Microsecond)
		defer leave()
		whole := rapid.Bool().Draw(r, "whole")
		o := order(id, story, audio.MP3)
		o.Whole = whole
		reply, err := s.Begin(ctx, o)
		if err != nil {
			require.ErrorIs(r, err, context.DeadlineExceeded)
			return
		}
		if whole {
			_, err = reply.Whole(ctx)
		} else {
			err = reply.Write(ctx, io.Discard)
		}
		if err != nil {
			require.ErrorIs(r, err, context.DeadlineExceeded)
		}
		if whole && err != nil {
			require.Eventually(r, func() bool { _, ended := s.Books(id).SettledBy[reply.ID()]; return ended },
				commandstest.Patience, time.Millisecond)
			require.Zero(r, s.Books(id).SettledBy[reply.ID()])
		}
	})
	s.requireIdle(id) // its books check that each was settled once
}

func TestARecordingThatIsGivenUpCostsNothing(t *testing.T) {
	s := newStudio(t)
	s.Encoders = leaving{s.Encoders, func() {}}
	id := s.Open("free")
	ctx, leave := context.WithCancel(t.Context())
	s.Encoders = leaving{s.Encoders, leave}
	reply := s.begin(ctx, collected(order(id, story, audio.MP3)))

	_, err := reply.Whole(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, map[string]int64{reply.ID(): 0}, s.Books(id).SettledBy)
	s.requireIdle(id)
}

// leaving are encoders with a client that disconnects when everything but the end has been encoded.
type leaving struct {
	audio.Encoders
	leave func()
}

func (l leaving) Open(ctx context.Context, spec audio.Spec, rate int) (audio.Encoder, error) {
	encoder, err := l.Encoders.Open(ctx, spec, rate)
	return leavingEncoder{encoder, l.leave}, err
}

type leavingEncoder struct {
	audio.Encoder
	leave func()
}

func (l leavingEncoder) Finish(ctx context.Context) ([]byte, error) {
	l.leave()
	return l.Encoder.Finish(ctx)
}

// killer kills the processes of a mode at the first byte.
type killer struct {
	t    *testing.T
	mode string
	out  bytes.Buffer
}

func (k *killer) Write(p []byte) (int, error) {
	if k.out.Len() == 0 {
		killChildren(k.t, k.mode)
	}
	return k.out.Write(p)
}

// killChildren kills this process's own children of a mode.
func killChildren(t *testing.T, mode string) {
	t.Helper()
	children, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	killed := 0
	for _, file := range children {
		list, _ := os.ReadFile(file) // the thread may have ended
		for _, child := range strings.Fields(string(list)) {
			line, _ := os.ReadFile(filepath.Join("/proc", child, "cmdline"))
			if !strings.HasSuffix(string(line), "\x00"+mode+"\x00") {
				continue
			}
			pid, err := strconv.Atoi(child)
			require.NoError(t, err)
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			killed++
		}
	}
	require.Positive(t, killed)
}

func TestACodecThatDiesEndsTheReply(t *testing.T) {
	s := newDoomedStudio(t)
	id := s.Open("free")
	reply := s.begin(t.Context(), order(id, strings.Repeat(story+" ", 4), audio.MP3))

	err := reply.Write(t.Context(), &killer{t: t, mode: "codec"})
	require.ErrorIs(t, err, codec.ErrCodecFailed)
	settled, found := s.Books(id).SettledBy[reply.ID()]
	require.True(t, found)
	require.Less(t, settled, reply.Characters())
	s.requireIdle(id)

	require.NoError(t, s.begin(t.Context(), order(id, story, audio.MP3)).Write(t.Context(), io.Discard),
		"the next one is served")
	s.requireIdle(id)
}

// breaking is an engine that dies in the middle of a segment.
type breaking struct {
	speech.Engine
	at string // the text of the segment
}

func (b breaking) Speak(ctx context.Context, job speech.Job) (speech.Utterance, error) {
	utterance, err := b.Engine.Speak(ctx, job)
	if err != nil || !strings.Contains(job.Text, b.at) {
		return utterance, err
	}
	return &brokenUtterance{Utterance: utterance}, nil
}

type brokenUtterance struct {
	speech.Utterance
	begun bool
}

func (b *brokenUtterance) Next(ctx context.Context) ([]byte, error) {
	if b.begun {
		return nil, speech.ErrEngineFailed
	}
	b.begun = true
	return b.Utterance.Next(ctx)
}

func TestAnEngineThatFailsSettlesWhatWasSpoken(t *testing.T) {
	s := newStudio(t)
	characters, _ := s.segments(story)
	s.Speaker = speech.NewSpeaker(breaking{s.engines, "Then it rained"})
	id := s.Open("free")
	reply := s.begin(t.Context(), order(id, story, audio.MP3))
	require.ErrorIs(t, reply.Write(t.Context(), io.Discard), speech.ErrEngineFailed)
	require.Equal(t, reply.Characters()-characters[len(characters)-1], s.Books(id).SettledBy[reply.ID()])

	reply = s.begin(t.Context(), collected(order(id, story, audio.MP3)))
	_, err := reply.Whole(t.Context())
	require.ErrorIs(t, err, speech.ErrEngineFailed)
	require.Zero(t, s.Books(id).SettledBy[reply.ID()], "what nobody got costs nothing")
	s.requireIdle(id)
}

func TestEnginesThatAreKilledAreReplaced(t *testing.T) {
	s := newDoomedStudio(t)
	id := s.Open("enterprise")
	for range 4 {
		reply := s.begin(t.Context(), order(id, story, audio.MP3))
		err := reply.Write(t.Context(), &killer{t: t, mode: "engine"})
		settled := s.Books(id).SettledBy[reply.ID()]
		if err == nil { // the lost segments were synthesised again
			require.Equal(t, reply.Characters(), settled)
		} else {
			require.ErrorIs(t, err, speech.ErrEngineFailed)
			require.Less(t, settled, reply.Characters())
		}
		require.Eventually(t, func() bool { return s.engines.Stats().Alive == 2 }, commandstest.Patience, time.Millisecond)
	}
	s.requireIdle(id)
}

// A settlement that the log does not accept is an error of the reply, which then is free.
func TestALogThatGoesWhileAReplyIsSpoken(t *testing.T) {
	dir := nodetest.Dir(t)
	node := nodetest.Open(t, dir)
	s := newStudioIn(t, commandstest.NewOn(t, esdbtest.Open(t, nodetest.Socket(dir))))
	id := s.Open("free")
	reply := s.begin(t.Context(), order(id, story, audio.MP3))
	require.NoError(t, node.Close())
	err := reply.Write(t.Context(), io.Discard)
	require.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)
	_, err = s.Begin(t.Context(), order(id, story, audio.MP3))
	require.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)

	node = nodetest.Open(t, dir)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	s.Clock.Advance(commandstest.Longest)
	require.Eventually(t, func() bool {
		r, err := s.Synthesiser.Ledger.Reserve(t.Context(), id, commandstest.FreeLimit, commandstest.Operator())
		if err == nil {
			commandstest.Settle(t, s.Synthesiser.Ledger, r, 0)
		}
		return err == nil
	}, commandstest.Patience, time.Millisecond)
	require.Zero(t, s.Books(id).Settled)
	s.requireIdle(id)
}

func TestRepliesOfOneAccountAtOnce(t *testing.T) {
	s := newStudio(t)
	id := s.Open("free")
	const text = "Thirty characters of this text"
	before := s.Log.Appends.Load()
	var wait sync.WaitGroup
	for range 40 {
		wait.Go(func() {
			reply, err := s.Begin(t.Context(), order(id, text, audio.WAV))
			if err == nil {
				err = reply.Write(t.Context(), io.Discard)
			}
			if err != nil {
				t.Errorf("speaking: %v", err)
			}
		})
	}
	wait.Wait()
	require.EqualValues(t, 40*utf8.RuneCountInString(text), s.Books(id).Settled)
	require.LessOrEqual(t, s.Log.Appends.Load()-before, int64(80))
	require.Zero(t, s.Log.Conflicts.Load())
	s.requireIdle(id)
}
