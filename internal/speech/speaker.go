package speech

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"sync"
	"time"

	"github.com/recital-tts/recital/internal/process/tracing"
	"github.com/recital-tts/recital/internal/speech/mastering"
)

// silenceOfNothing is the length of an unspeakable segment, in seconds.
const silenceOfNothing = 0.1

// faintest is the sample value below which speech fades into its pauses, 44 dB below full scale.
const faintest = 200

// faint returns the sample value of the stream's engine that the gain at a speed turns into faintest.
func (st *Stream) faint(speed float64) int {
	r := st.request
	r.Speed = speed
	return int(faintest / math.Pow(10, st.masteringOf(r).Gain/20))
}

// Request describes the speech of one text.
type Request struct {
	Text     string
	Voice    Voice
	Language string  // an engine language, or AutoLanguage or "" to detect it from the text
	Speed    float64 // MinSpeed to MaxSpeed; 0 means 1
	Model    string  // "" means ModelAurora
	Prosody  Prosody
	Seed     int64   // of random deviations: the same request and seed give the same samples
	Length   float64 // requested seconds of audio, replaces Speed; 0 means the natural length
	// Markup is a text with markup, which replaces Text; nil for none.
	Markup *Markup
	// Cast has the voices by their names in the markup. Voice speaks the parts without one of these names.
	Cast map[string]Voice
	// Lexicon has the pronunciations of words; nil for none.
	Lexicon *Lexicon
	Account string // shares its places of installed voices among its streams; "" for none
	// Substitutes permits a system voice to speak itself if its installed voice has no place, and a clone of an installed
	// voice to speak by its timbre. Warning then returns a warning.
	Substitutes bool
}

// Piece is the next part of a stream: samples, or the end of a segment, or both.
type Piece struct {
	PCM        []byte // signed 16-bit little-endian, one channel
	SegmentEnd bool
	// In a piece that ends a segment: the code points of the segment, and the positions of its words in the audio of the
	// whole stream. The timings of a stream begin and end with the empty text; the timings of its segments do not.
	Characters int
	Silent     bool // the segment had no sound
	Timings    []Timing
}

// Speaker speaks whole texts, segment by segment. It is safe for concurrent use.
type Speaker struct {
	engine spoken
	second Engine // nil if there is none
	// nil if there are none
	installed InstalledEngines
}

// NewSpeaker returns a Speaker that uses an engine behind the front end.
func NewSpeaker(engine Engine) *Speaker { return &Speaker{engine: newSpoken(engine, nil)} }

// WithJapanese returns a speaker that uses a reader for Japanese.
func (s *Speaker) WithJapanese(reader JapaneseReader) *Speaker {
	with := *s
	with.engine = newSpoken(s.engine.Engine, reader)
	return &with
}

// WithSecondEngine returns a speaker that uses another engine, of the same sample rate, for the blizzard models'
// American English.
func (s *Speaker) WithSecondEngine(second Engine) *Speaker {
	with := *s
	with.second = spoken{Engine: second}
	return &with
}

// Speak starts a stream. The synthesis of the first segment starts immediately. Everything is cancelled when ctx ends.
// The caller must close the stream.
func (s *Speaker) Speak(ctx context.Context, r Request) *Stream {
	if r.Speed == 0 {
		r.Speed = 1
	}
	if r.Markup != nil {
		r.Text = r.Markup.Text
	}
	r.Language = languageOf(r.Text, r.Language)
	ctx, cancel := withListener(ctx, r.Account)
	r, taken := s.admit(ctx, r)
	st := s.newStream(s.engineFor(r), r, Split(r.Text))
	if r.Markup != nil {
		st = s.newStream(steered{s, r}, r, splitMarkup(*r.Markup, r.Speed))
	}
	st.ctx, st.cancel, st.substitution = ctx, cancel, cmp.Or(taken, s.substitution(r))
	if r.Length > 0 {
		st.fit = newFit(st)
		st.jobs.Go(st.fit.measure)
	}
	if !isSurelySpoken(r.Text, s.usesSecond(r)) {
		st.audition = &audition{stream: st, over: make(chan struct{})}
		st.jobs.Go(st.audition.listen)
	}
	st.ahead = st.start(0)
	return st
}

func (s *Speaker) newStream(engine Engine, r Request, segments []Segment) *Stream {
	st := &Stream{engine: engine, request: r, manner: newManner(r.Prosody, r.Model), masteringOf: s.masteringOf}
	st.segments = r.Lexicon.Pronounce(segments, r.Language)
	return st
}

func (s *Speaker) engineFor(r Request) Engine {
	if engine, found := s.installedEngine(r); found {
		return engine
	}
	if s.usesSecond(r) {
		return s.second
	}
	return s.engine
}

func (s *Speaker) usesSecond(r Request) bool {
	if _, found := s.installedEngine(r); found {
		return false
	}
	return s.second != nil && r.Voice.Timbre == nil && usesSecondEngine(r.Model, r.Language)
}

// masteringOf returns the settings that make a voice as loud as all others.
func (s *Speaker) masteringOf(r Request) mastering.Settings {
	if _, found := s.installedEngine(r); found {
		settings := mastering.Settings{Gain: r.Voice.Installed.Gain}
		if moved := r.Voice.Installed.Moved; moved != nil {
			settings.Equaliser = moved.Equaliser
		}
		return settings
	}
	settings := s.masteringAtOwnSpeed(r)
	if s.usesSecond(r) {
		settings.Gain += speedGain(SecondEngine, secondEngineLanguage, r.Voice, r.Speed)
	} else {
		settings.Gain += speedGain(FirstEngine, r.Language, r.Voice, r.Speed)
	}
	return settings
}

func (s *Speaker) masteringAtOwnSpeed(r Request) mastering.Settings {
	switch t := r.Voice.Timbre; {
	case t != nil:
		return mastering.Settings{Gain: t.Gain + languageGain(r.Language), Equaliser: t.Equaliser}
	case s.usesSecond(r):
		return mastering.Settings{Gain: gainOf(SecondEngine, secondEngineLanguage, r.Voice)}
	default:
		return mastering.Settings{Gain: gainOf(FirstEngine, r.Language, r.Voice)}
	}
}

// Stream is the speech of a text in order. At most one segment is synthesised ahead of the current one, so a slow
// reader occupies no worker and little memory. It is read by one goroutine at a time.
type Stream struct {
	engine      Engine
	request     Request
	manner      manner
	segments    []Segment
	masteringOf func(Request) mastering.Settings
	fit         *fit      // nil unless a length was requested
	audition    *audition // nil if the text is surely spoken
	// the warning that another voice speaks
	substitution string
	ctx          context.Context
	cancel       context.CancelFunc
	jobs         sync.WaitGroup

	index   int      // of the current segment
	current *attempt // of that segment
	chain   *mastering.Chain
	ahead   *attempt // of the next segment, requested in advance
	retried bool     // current is the second attempt
	said    repetition
	samples int   // returned so far from the current segment
	heard   bool  // the segment had sound
	quiet   int   // samples returned of the pause after the segment
	offset  int   // samples of the earlier segments
	err     error // the reason why reading cannot continue
}

// SampleRate returns the rate of the samples in Hz.
func (st *Stream) SampleRate() int { return st.engine.SampleRate() }

// Characters returns the number of characters of all segments.
func (st *Stream) Characters() (sum int64) {
	for _, s := range st.segments {
		sum += int64(s.Characters)
	}
	return sum
}

// Next waits for the next piece. It returns io.EOF at the end, and ErrEngineFailed (wrapped) if a segment cannot be
// synthesised: if its worker died, another one has tried to continue where it stopped. Other errors end the stream; the
// end of ctx does not.
func (st *Stream) Next(ctx context.Context) (Piece, error) {
	for {
		if st.err != nil {
			return Piece{}, st.err
		}
		if st.index == len(st.segments) {
			return Piece{}, io.EOF
		}
		pcm, err := st.read(ctx)
		switch {
		case err == nil:
			if pcm = st.master(pcm); len(pcm) > 0 {
				return Piece{PCM: pcm}, nil
			}
		case errors.Is(err, io.EOF):
			if pcm := st.pause(); len(pcm) > 0 {
				return Piece{PCM: pcm}, nil
			}
			return st.endSegment(), nil
		case ctx.Err() != nil:
			return Piece{}, ctx.Err()
		case errors.Is(err, ErrEngineFailed) && !st.retried:
			st.retry()
		default:
			st.err = err
		}
	}
}

// retry requests the current segment again. If no samples were returned yet, the repetition may differ.
func (st *Stream) retry() {
	st.current.close()
	if st.said.begin(); st.samples == 0 {
		st.chain.Flush()
		st.heard, st.said = false, repetition{}
	}
	st.current, st.retried = st.attempt(st.index, true), true
}

// Close cancels the rest of the stream and waits until the engine has been notified. It may be called more than once,
// but not while Next runs.
func (st *Stream) Close() {
	st.cancel()
	st.jobs.Wait()
	st.current.close()
	st.ahead.close()
	if st.err == nil {
		st.err = context.Canceled
	}
}

func (st *Stream) read(ctx context.Context) ([]byte, error) {
	if st.quiet > 0 {
		return nil, io.EOF
	}
	if st.current == nil {
		st.current, st.ahead, st.chain = st.ahead, nil, st.newChain()
	}
	utterance, err := st.current.await(ctx)
	if err != nil {
		return nil, err
	}
	pcm, err := st.next(ctx, utterance)
	if errors.Is(err, io.EOF) {
		return nil, cmp.Or(st.said.end(), err)
	}
	if err != nil {
		return nil, err
	}
	return st.said.pass(pcm)
}

// headStart is the time for which the current segment has the processors to itself until its first samples. It is much
// longer than most voices need for these, and short compared with a slow voice's time for a segment.
const headStart = 200 * time.Millisecond

// next reads the utterance of the current segment. It requests the next segment once there are samples, or at the end
// of the head start. Earlier, that request would only delay the samples.
func (st *Stream) next(ctx context.Context, utterance Utterance) (pcm []byte, err error) {
	if st.ahead != nil || st.index == len(st.segments)-1 {
		return utterance.Next(ctx)
	}
	first, cancel := context.WithTimeout(ctx, headStart)
	defer cancel()
	pcm, err = utterance.Next(first)
	if ctx.Err() != nil {
		return pcm, err
	}
	st.ahead = st.start(st.index + 1)
	if len(pcm) == 0 && errors.Is(err, context.DeadlineExceeded) {
		return utterance.Next(ctx)
	}
	return pcm, err
}

// master returns the samples that are ready to be heard.
func (st *Stream) master(pcm []byte) []byte {
	st.heard = st.heard || isAudible(pcm)
	mastered := st.chain.Process(pcm)
	st.samples += len(mastered) / 2
	return mastered
}

func (st *Stream) endSegment() Piece {
	segment := st.segments[st.index]
	piece := Piece{PCM: st.chain.Flush(), SegmentEnd: true, Characters: segment.Characters, Silent: !st.heard}
	st.samples += len(piece.PCM) / 2
	if st.samples == 0 && st.quiet == 0 {
		st.samples = int(silenceOfNothing * float64(st.SampleRate()))
		piece.PCM = make([]byte, st.samples*2)
	}
	piece.Timings = st.timings(segment.Text, st.current.utterance.Marks())
	st.offset += st.samples + st.quiet
	st.current.close()
	st.current, st.retried, st.said = nil, false, repetition{}
	st.samples, st.heard, st.quiet = 0, false, 0
	st.index++
	return piece
}

// timings returns the timings of a segment without the silences at its ends, except at the ends of the stream. A pause
// of markup thus lies between two elements.
func (st *Stream) timings(text string, marks []Mark) []Timing {
	spans := placeTokens(tokenize(text), marks, st.samples)
	timings := timeSpans(spans, st.samples+st.quiet, st.offset, st.SampleRate())
	if st.index < len(st.segments)-1 {
		timings = timings[:len(timings)-1]
	}
	if st.index > 0 {
		timings = timings[1:]
	}
	return timings
}

// attempt is the synthesis of one segment, including the wait for a worker.
type attempt struct {
	span      tracing.Span
	done      chan struct{} // closed when the fields below are set
	utterance Utterance
	err       error
}

// start requests a segment; it returns nil if there is none with this index.
func (st *Stream) start(index int) *attempt {
	if index >= len(st.segments) {
		return nil
	}
	return st.attempt(index, false)
}

func (st *Stream) attempt(index int, careful bool) *attempt {
	job := st.job(index, careful)
	speak := st.engine.Speak
	switch {
	case st.fit != nil:
		speak = func(ctx context.Context, job Job) (Utterance, error) { return st.fit.speak(ctx, job, index) }
	case job.Speed != 1:
		speak = st.speakAtSpeed
	}
	ctx, span := tracing.Start(st.ctx, "speech segment")
	span.Count("recital.segment", index)
	span.Count("recital.characters", st.segments[index].Characters)
	a := &attempt{span: span, done: make(chan struct{})}
	st.jobs.Go(func() {
		defer close(a.done)
		a.utterance, a.err = speak(ctx, job)
		tracing.Note(ctx, "taken by an engine")
	})
	return a
}

func (st *Stream) job(index int, careful bool) Job {
	text := string([]rune(st.segments[index].Text)) // each invalid UTF-8 byte becomes U+FFFD
	m := st.segments[index].markup
	if m != nil {
		text = m.text
	}
	job := Job{
		Text:     text,
		Voice:    st.request.Voice,
		Language: st.request.Language,
		Speed:    st.request.Speed,
		First:    index == 0,
		NoPause:  index == len(st.segments)-1,
		Careful:  careful,
		Faint:    st.faint(st.request.Speed),
		Phrases:  st.manner.phrasesOf(text, st.request.Seed),
	}
	job.Continues = !job.NoPause && pauseAfter(text) == 0
	if m != nil {
		m.steer(&job, st.request)
	}
	return job
}

func (a *attempt) await(ctx context.Context) (Utterance, error) {
	if err := await(ctx, a.done); err != nil {
		return nil, err
	}
	return a.utterance, a.err
}

// close cancels the attempt and waits for its end.
func (a *attempt) close() {
	if a == nil {
		return
	}
	<-a.done
	if a.utterance != nil {
		a.utterance.Close()
	}
	a.span.End(a.err)
}

// Part is one segment of a text that is spoken segment by segment because it is not complete yet.
type Part struct {
	Segment Segment
	First   bool // it overtakes later segments of others
	Last    bool // the end of the text: no pause is added
}

// SpeakPart starts the speech of a part. The text of r is ignored, and its language must be an engine language. Times
// are relative to the start of the part; the stream has one segment. Length does not apply. The caller must close it.
func (s *Speaker) SpeakPart(ctx context.Context, r Request, part Part) *Stream {
	if r.Speed == 0 {
		r.Speed = 1
	}
	st := s.newStream(placed{s.engineFor(r), part}, r, []Segment{part.Segment})
	st.ctx, st.cancel = withListener(ctx, r.Account)
	st.substitution = s.substitution(r)
	st.ahead = st.start(0)
	return st
}

// SampleRate returns the rate of the samples in Hz.
func (s *Speaker) SampleRate() int { return s.engine.SampleRate() }

// placed is the engine for a part: its stream treats the part as a whole text.
type placed struct {
	Engine
	part Part
}

func (p placed) Speak(ctx context.Context, job Job) (Utterance, error) {
	job.First = p.part.First
	job.NoPause = p.part.Last
	job.Continues = !p.part.Last && pauseAfter(p.part.Segment.Text) == 0
	return p.Engine.Speak(ctx, job)
}
