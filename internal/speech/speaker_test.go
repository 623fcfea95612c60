package speech_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/longtest"
	"github.com/recital-tts/recital/internal/testing/proptest"
)

func openPool(t testing.TB, size int) *worker.Pool {
	t.Helper()
	pool, err := worker.Open(worker.Config{Command: workertest.Command(binary), Size: size})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	return pool
}

func request(text string) speech.Request {
	return speech.Request{Text: text, Voice: speech.Voices()[0], Language: "en-us"}
}

type whole struct {
	pcm        []byte
	characters int
	segments   int
	timings    []speech.Timing
}

// read reads a stream to its end or first error.
func read(ctx context.Context, st *speech.Stream) (whole, error) {
	var w whole
	for {
		piece, err := st.Next(ctx)
		if errors.Is(err, io.EOF) {
			return w, nil
		}
		if err != nil {
			return w, err
		}
		w.pcm = append(w.pcm, piece.PCM...)
		w.characters += piece.Characters
		w.timings = append(w.timings, piece.Timings...)
		if piece.SegmentEnd {
			w.segments++
		}
	}
}

func speak(t *testing.T, e speech.Engine, r speech.Request) whole {
	t.Helper()
	st := speech.NewSpeaker(e).Speak(t.Context(), r)
	defer st.Close()
	w, err := read(t.Context(), st)
	require.NoError(t, err)
	return w
}

const story = "The quick brown fox jumps over the lazy dog, and then it rests. " +
	"Dr. Smith isn't here; he left (at noon) with 1,234 of the birds! Is it so? Yes."

func TestAWholeTextIsSpoken(t *testing.T) {
	pool := openPool(t, 2)
	tests := map[string]string{
		"sentences": story, "one word": "Hello", "only an emoji": "😀", "only spaces": "   ", "only stops": "... ... ...",
		"a long text": strings.Repeat(story+" ", 20), "Chinese": "今天天气很好。我们去公园。", "Japanese": "こんにちは、世界。東京です。",
		"not UTF-8": "abc \xff\xfe def", "NUL": "abc \x00 def", "emoji in words": "I 😀 like 👩‍👩‍👧‍👦 it. Yes 😀. No.",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			r := request(text)
			r.Language = speech.AutoLanguage
			w := speak(t, pool, r)
			require.NotEmpty(t, w.pcm)
			require.Equal(t, utf8.RuneCountInString(text), w.characters)
			require.Len(t, speech.Split(text), w.segments)
			requireTimings(t, text, w.timings, float64(len(w.pcm)/2)/float64(pool.SampleRate()))
		})
	}
}

func TestNoTextIsNoSpeech(t *testing.T) {
	st := speech.NewSpeaker(openPool(t, 1)).Speak(t.Context(), request(""))
	defer st.Close()
	_, err := st.Next(t.Context())
	require.ErrorIs(t, err, io.EOF)
}

func TestAnyTextIsSpoken(t *testing.T) {
	pool := openPool(t, 2)
	proptest.Shortened(t, 4, func(rt *rapid.T) {
		r := request(anyText().Draw(rt, "text"))
		r.Language = rapid.SampledFrom([]string{
			"en-us", "de", "cmn", "ja", "ru", "hi", "th", "ar", "auto",
		}).Draw(rt, "language")
		st := speech.NewSpeaker(pool).Speak(t.Context(), r)
		defer st.Close()
		w, err := read(t.Context(), st)
		require.NoError(rt, err)
		require.Equal(rt, utf8.RuneCountInString(r.Text), w.characters)
		if r.Text != "" {
			requireTimings(rt, r.Text, w.timings, float64(len(w.pcm)/2)/float64(pool.SampleRate()))
		}
	})
}

// Each word has its place in the audio: words of the same text at other speeds keep their share of it.
func TestWordTimesFollowTheSpeed(t *testing.T) {
	pool := openPool(t, 1)
	normal := speak(t, pool, request(story))
	for _, speed := range []float64{0.25, 0.6, 1.8} {
		r := request(story)
		r.Speed = speed
		w := speak(t, pool, r)
		require.InEpsilon(t, float64(len(normal.pcm))/speed, len(w.pcm), 0.001)
		require.Len(t, w.timings, len(normal.timings))
		length := float64(len(w.pcm)/2) / float64(pool.SampleRate())
		normalLength := float64(len(normal.pcm)/2) / float64(pool.SampleRate())
		for i, timing := range w.timings {
			require.InDelta(t, normal.timings[i].Start/normalLength, timing.Start/length, 0.06, timing.Text)
		}
	}
}

func TestPausesStandBetweenSegments(t *testing.T) {
	pool := openPool(t, 1)
	w := speak(t, pool, request("This is one thing. That is another."))
	require.Equal(t, 2, w.segments)
	for i, timing := range w.timings {
		if timing.Text == "." && i < len(w.timings)-3 {
			require.Greater(t, timing.Duration, 0.15, "the pause belongs to the full stop")
		}
	}
}

// gate is an engine that lets the test observe and hold each job.
type gate struct {
	speech.Engine
	asked  atomic.Int64
	asking func(speech.Job)
	fail   func(speech.Job) error // how the job fails; nil means that it does not
	after  int                    // pieces before the failure
}

func (g *gate) Speak(ctx context.Context, job speech.Job) (speech.Utterance, error) {
	g.asked.Add(1)
	if g.asking != nil {
		g.asking(job)
	}
	u, err := g.Engine.Speak(ctx, job)
	if err != nil || g.fail == nil {
		return u, err
	}
	if failure := g.fail(job); failure != nil {
		return &failingUtterance{Utterance: u, left: g.after, err: failure}, nil
	}
	return u, nil
}

// failOnce makes the first attempt of each segment fail.
func failOnce(failure error) func(speech.Job) error {
	return func(job speech.Job) error {
		if job.Careful {
			return nil
		}
		return failure
	}
}

// changing is an engine that speaks something else the second time.
type changing struct {
	speech.Engine
	other string
}

func (c changing) Speak(ctx context.Context, job speech.Job) (speech.Utterance, error) {
	if job.Careful {
		job.Text, job.Phrases = c.other, nil
	}
	return c.Engine.Speak(ctx, job)
}

type failingUtterance struct {
	speech.Utterance
	left int
	err  error
}

func (f *failingUtterance) Next(ctx context.Context) ([]byte, error) {
	if f.left--; f.left < 0 {
		return nil, f.err
	}
	return f.Utterance.Next(ctx)
}

func TestAtMostOneSegmentIsAskedForAhead(t *testing.T) {
	g := &gate{Engine: openPool(t, 2)}
	text := strings.Repeat(story+" ", 20)
	segments := int64(len(speech.Split(text)))
	require.Greater(t, segments, int64(5))
	st := speech.NewSpeaker(g).Speak(t.Context(), request(text))
	defer st.Close()
	require.Eventually(t, func() bool { return g.asked.Load() == 1 }, 20*time.Second, time.Millisecond, "starts at once")
	for ended := int64(0); ended < segments; {
		require.LessOrEqual(t, g.asked.Load(), ended+2)
		piece, err := st.Next(t.Context())
		require.NoError(t, err)
		require.LessOrEqual(t, g.asked.Load(), ended+2)
		if piece.SegmentEnd {
			ended++
		}
	}
	require.Equal(t, segments, g.asked.Load())
}

// awaited is an engine that delays the samples of the first segment until the test releases them.
type awaited struct {
	speech.Engine
	before func(context.Context) error
}

func (a awaited) Speak(ctx context.Context, job speech.Job) (speech.Utterance, error) {
	u, err := a.Engine.Speak(ctx, job)
	if err != nil || !job.First {
		return u, err
	}
	return awaitedUtterance{u, a.before}, nil
}

type awaitedUtterance struct {
	speech.Utterance
	before func(context.Context) error
}

func (a awaitedUtterance) Next(ctx context.Context) ([]byte, error) {
	if err := a.before(ctx); err != nil {
		return nil, err
	}
	return a.Utterance.Next(ctx)
}

func TestTheFirstSegmentHasTheProcessorsForItselfUntilItIsHeard(t *testing.T) {
	g := &gate{Engine: openPool(t, 2)}
	var asked []int64
	speak(t, awaited{g, func(context.Context) error {
		asked = append(asked, g.asked.Load())
		return nil
	}}, request(story))
	require.NotEmpty(t, asked)
	require.EqualValues(t, 1, asked[0])
}

func TestTheNextSegmentOfASlowVoiceIsAskedForBeforeTheFirstIsHeard(t *testing.T) {
	heard := make(chan struct{})
	g := &gate{Engine: openPool(t, 2)}
	g.asking = func(speech.Job) {
		if g.asked.Load() == 2 {
			close(heard)
		}
	}
	want := speak(t, openPool(t, 2), request(story))
	require.Equal(t, want, speak(t, awaited{g, func(ctx context.Context) error {
		select {
		case <-heard:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}, request(story)))
}

func TestSegmentsAreAskedForInOrder(t *testing.T) {
	pool := openPool(t, 1)
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, and then it rests. He left at noon! ", 6)
	for range longtest.Times(20, 5) {
		var asked []string
		g := &gate{Engine: pool, asking: func(job speech.Job) { asked = append(asked, job.Text) }}
		speak(t, g, request(text))
		require.Equal(t, texts(speech.Split(text)), asked)
	}
}

func TestTheFirstAudioComesBeforeTheLastSegmentIsAskedFor(t *testing.T) {
	g := &gate{Engine: openPool(t, 1)}
	text := strings.Repeat(story+" ", 20)
	st := speech.NewSpeaker(g).Speak(t.Context(), request(text))
	defer st.Close()
	piece, err := st.Next(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, piece.PCM)
	require.Less(t, g.asked.Load(), int64(len(speech.Split(text))))
}

func TestASegmentThatFailsIsTriedOnceMore(t *testing.T) {
	broken := errors.Join(speech.ErrEngineFailed, errors.New("killed"))
	pool := openPool(t, 2)
	want := speak(t, pool, request(story))

	t.Run("the second attempt works", func(t *testing.T) {
		var tried sync.Map
		g := &gate{Engine: pool, fail: func(job speech.Job) error {
			_, again := tried.LoadOrStore(job.Text, true)
			if again != job.Careful {
				t.Errorf("attempt two is %v, and careful %v", again, job.Careful)
			}
			if !again {
				return broken
			}
			return nil
		}}
		got := speak(t, g, request(story))
		require.Equal(t, want.pcm, got.pcm)
		require.Equal(t, want.timings, got.timings)
	})
	t.Run("the second attempt fails too", func(t *testing.T) {
		g := &gate{Engine: pool, fail: func(speech.Job) error { return broken }}
		st := speech.NewSpeaker(g).Speak(t.Context(), request(story))
		defer st.Close()
		_, err := st.Next(t.Context())
		require.ErrorIs(t, err, speech.ErrEngineFailed)
		_, again := st.Next(t.Context())
		require.Equal(t, err, again)
	})
	t.Run("audio has been returned", func(t *testing.T) {
		for after := 1; ; after++ {
			g := &gate{Engine: pool, fail: failOnce(broken), after: after}
			require.Equal(t, want, speak(t, g, request(story)), "after %d pieces", after)
			if int(g.asked.Load()) == want.segments { // none has as many pieces
				require.Greater(t, after, 2)
				break
			}
		}
	})
	t.Run("audio has been returned, and the second attempt fails too", func(t *testing.T) {
		g := &gate{Engine: pool, fail: func(speech.Job) error { return broken }, after: 1}
		st := speech.NewSpeaker(g).Speak(t.Context(), request(story))
		defer st.Close()
		_, err := st.Next(t.Context())
		require.NoError(t, err)
		_, err = st.Next(t.Context())
		require.ErrorIs(t, err, speech.ErrEngineFailed)
	})
	t.Run("audio has been returned, and the second attempt says something else", func(t *testing.T) {
		for _, other := range []string{"Something that is quite as long as what was to be said in its place.", "No."} {
			g := &gate{Engine: changing{pool, other}, fail: failOnce(broken), after: 1}
			st := speech.NewSpeaker(g).Speak(t.Context(), request(story))
			defer st.Close()
			got, err := read(t.Context(), st)
			require.ErrorIs(t, err, speech.ErrEngineFailed)
			require.True(t, bytes.HasPrefix(want.pcm, got.pcm), "nothing else is heard")
			require.Zero(t, got.segments)
		}
	})
	t.Run("another error is not repeated", func(t *testing.T) {
		g := &gate{Engine: pool, fail: func(speech.Job) error { return speech.ErrTooMuchAudio }}
		st := speech.NewSpeaker(g).Speak(t.Context(), request("One word."))
		defer st.Close()
		_, err := st.Next(t.Context())
		require.ErrorIs(t, err, speech.ErrTooMuchAudio)
		require.EqualValues(t, 1, g.asked.Load())
	})
}

func TestAStreamEndsWithItsContext(t *testing.T) {
	pool := openPool(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	st := speech.NewSpeaker(pool).Speak(ctx, request(strings.Repeat(story+" ", 20)))
	defer st.Close()
	_, err := st.Next(t.Context())
	require.NoError(t, err)
	cancel()
	for err == nil {
		_, err = st.Next(t.Context())
	}
	require.ErrorIs(t, err, context.Canceled)
}

func TestTheContextOfOneReadDoesNotEndTheStream(t *testing.T) {
	pool := openPool(t, 1)
	st := speech.NewSpeaker(pool).Speak(t.Context(), request(story))
	defer st.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := st.Next(ended)
	require.ErrorIs(t, err, context.Canceled)
	w, err := read(t.Context(), st)
	require.NoError(t, err)
	require.Equal(t, utf8.RuneCountInString(story), w.characters)
}

// Many streams that are not read occupy no worker: another client is served.
func TestStreamsThatAreNotReadHoldNoWorker(t *testing.T) {
	pool := openPool(t, 1)
	for range 20 {
		st := speech.NewSpeaker(pool).Speak(t.Context(), request(strings.Repeat(story+" ", 5)))
		defer st.Close()
		_, err := st.Next(t.Context())
		require.NoError(t, err)
	}
	require.NotEmpty(t, speak(t, pool, request(story)).pcm)
}

func TestManyClientsHearTheSame(t *testing.T) {
	pool := openPool(t, 2)
	want := speak(t, pool, request(story))
	var clients sync.WaitGroup
	for range 16 {
		clients.Go(func() {
			st := speech.NewSpeaker(pool).Speak(t.Context(), request(story))
			defer st.Close()
			got, err := read(t.Context(), st)
			if err != nil || string(got.pcm) != string(want.pcm) {
				t.Errorf("a client heard something else: %v", err)
			}
		})
	}
	clients.Wait()
	require.Zero(t, pool.Stats().Busy)
}

func TestClosedStream(t *testing.T) {
	st := speech.NewSpeaker(openPool(t, 1)).Speak(t.Context(), request(strings.Repeat(story+" ", 20)))
	st.Close()
	st.Close()
	_, err := st.Next(t.Context())
	require.ErrorIs(t, err, context.Canceled)
}
