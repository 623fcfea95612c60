package synthesis

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/speech"
)

const (
	// maxWaiting bounds the queue, in characters: reading from the client pauses while it is full.
	maxWaiting = 32 << 10
	// markWeight is the weight of a flush or a reset in characters, so that their number is bounded, too.
	markWeight = 16
	// maxUnit bounds the characters of a unit, like those of a request.
	maxUnit = 5000
	// heardCharacters is the number of characters from which the language is detected.
	heardCharacters = 2000
)

type mark int

const (
	markNone mark = iota
	markFlush
	markFinish
	markReset
	markDrain
	markQuiet
)

// passage is the text up to a flush, or since the last flush.
type passage struct {
	text    []byte
	flushed bool
	nonce   *int64 // of the flush
}

// reset is an unreported reset. It has dropped the text before it.
type reset struct {
	nonce     *int64
	overtaken []*int64 // nonces of the flushes that it overtook
}

func (r reset) weight() int { return markWeight * (1 + len(r.overtaken)) }

// part is a segment with its language.
type part struct {
	speech.Part
	language string
}

// unit is the text that is spoken under one reservation: the text up to a flush, or the segments that were complete at
// the end of the previous unit.
type unit struct {
	parts []part
	flush bool // a flush follows: no audio may remain in the encoder
	last  bool // the session ends after it
	empty bool // the queue is empty
}

func (u unit) characters() (n int64) {
	for _, p := range u.parts {
		n += int64(p.Segment.Characters)
	}
	return n
}

// step is the next step: a unit, or a mark that was reached.
type step struct {
	mark  mark
	unit  unit
	nonce *int64 // of a flush
	reset reset
}

// script is the text of a session from its arrival until it is spoken. It is taken in this order: resets, ready
// segments, the text in the segmenter, the passages, the end.
type script struct {
	language string
	draining <-chan struct{}
	news     chan struct{} // of capacity 1: there may be a next step
	room     chan struct{} // of capacity 1: there may be room

	mu         sync.Mutex
	resets     []reset // unreported
	unreported int     // their weight
	ready      []part  // segmented, to be spoken
	segmenter  speech.Segmenter
	passages   []passage // only the last one may lack its flush
	end        mark      // markFinish or markDrain: further text is ignored
	waiting    int       // weight of the text and its flushes
	heard      strings.Builder
	hearing    int               // characters in heard
	later      bool              // this is not the first segment since the start, a flush or a reset
	interrupt  func(cause error) // stops the current unit
}

func newScript(language string, draining <-chan struct{}) *script {
	return &script{language: language, draining: draining, news: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// Add appends to the text. It waits while too much text is queued, until ctx ends. After the end it has no effect.
func (s *script) Add(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	return s.accept(ctx, utf8.RuneCountInString(text), func() {
		last := s.open()
		last.text = append(last.text, text...)
	})
}

// Flush causes all text so far to be spoken, including an incomplete clause. It waits like Add.
func (s *script) Flush(ctx context.Context, nonce *int64) error {
	return s.accept(ctx, markWeight, func() {
		last := s.open()
		last.flushed, last.nonce = true, nonce
	})
}

// Finish causes all text to be spoken and ends the session.
func (s *script) Finish(ctx context.Context) error {
	return s.accept(ctx, 0, func() { s.end = markFinish })
}

// open returns the passage that lacks its flush.
func (s *script) open() *passage {
	if n := len(s.passages); n == 0 || s.passages[n-1].flushed {
		s.passages = append(s.passages, passage{})
	}
	return &s.passages[len(s.passages)-1]
}

func (s *script) accept(ctx context.Context, weight int, put func()) error {
	return s.whenRoom(ctx, func() bool {
		if s.end != markNone {
			return true
		}
		if queued := s.waiting + s.unreported; queued > 0 && queued+weight > maxWaiting {
			return false
		}
		s.waiting += weight
		put()
		return true
	})
}

// Reset drops text that was not spoken, and stops audio that was not delivered. It waits while too many resets are
// unreported, until ctx ends: these have stopped the unit already.
func (s *script) Reset(ctx context.Context, nonce *int64) error {
	return s.whenRoom(ctx, func() bool {
		if s.unreported >= maxWaiting {
			return false
		}
		r := reset{nonce: nonce}
		for _, p := range s.passages {
			if p.flushed {
				r.overtaken = append(r.overtaken, p.nonce)
			}
		}
		s.forget()
		s.resets = append(s.resets, r)
		s.unreported += r.weight()
		if s.interrupt != nil {
			s.interrupt(errReset)
		}
		signal(s.room)
		return true
	})
}

// whenRoom calls put until that reports that there was room.
func (s *script) whenRoom(ctx context.Context, put func() bool) error {
	locked := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return put()
	}
	for !locked() {
		select {
		case <-s.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	signal(s.news)
	return nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// forget drops all text.
func (s *script) forget() {
	s.passages, s.ready, s.waiting = nil, nil, 0
	s.segmenter.Reset()
	s.heard.Reset()
	s.hearing, s.later = 0, false
}

// drain keeps the text up to the last flush, and ends after it.
func (s *script) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != markNone {
		return
	}
	s.end = markDrain
	if n := len(s.passages); n > 0 && !s.passages[n-1].flushed {
		s.passages = s.passages[:n-1]
	}
	if len(s.passages) == 0 {
		s.forget()
	}
	signal(s.room)
}

// next waits for the next step. After the time quiet without one it returns markQuiet; 0 means never.
func (s *script) next(ctx context.Context, quiet time.Duration) (step, error) {
	draining := s.draining
	var silence <-chan time.Time
	if quiet > 0 {
		silence = time.After(quiet)
	}
	for {
		if isClosed(draining) {
			s.drain()
			draining = nil
		}
		if err := context.Cause(ctx); err != nil {
			return step{}, err
		}
		if next, ok := s.look(); ok {
			signal(s.room)
			return next, nil
		}
		select {
		case <-s.news:
		case <-draining:
		case <-silence:
			return step{mark: markQuiet}, nil
		case <-ctx.Done():
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (s *script) look() (step, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.resets) > 0 {
		return step{mark: markReset, reset: s.takeReset()}, true
	}
	s.cut()
	switch {
	case len(s.ready) > 0:
		return step{unit: s.takeUnit()}, true
	case s.flushes():
		return step{mark: markFlush, nonce: s.takeFlush()}, true
	}
	return step{mark: s.end}, s.end != markNone
}

func (s *script) takeReset() reset {
	first := s.resets[0]
	s.resets[0] = reset{}
	s.resets = s.resets[1:]
	s.unreported -= first.weight()
	return first
}

func (s *script) takeFlush() *int64 {
	nonce := s.passages[0].nonce
	s.passages = s.passages[1:]
	s.waiting -= markWeight
	s.later = false
	return nonce
}

// flushes reports whether a flush ends the text in the segmenter and the first passage.
func (s *script) flushes() bool { return len(s.passages) > 0 && s.passages[0].flushed }

// cut moves text, up to the next flush or the end, into segments. It stops when they exceed a unit, because the account
// may not have the characters for the rest.
func (s *script) cut() {
	if len(s.passages) > 0 {
		s.segmenter.Add(string(s.passages[0].text))
		s.passages[0].text = nil
	}
	next := s.segmenter.Next
	if s.flushes() || s.end != markNone {
		next = s.segmenter.Flush
	}
	for characters := (unit{parts: s.ready}).characters(); characters <= maxUnit; {
		segment, ok := next()
		if !ok {
			return
		}
		s.ready = append(s.ready, part{speech.Part{Segment: segment, First: !s.later}, s.languageOf(segment)})
		s.later = true
		characters += int64(segment.Characters)
	}
}

// languageOf detects the language from the text so far, if that was requested.
func (s *script) languageOf(segment speech.Segment) string {
	if s.language != "" && s.language != speech.AutoLanguage {
		return s.language
	}
	if s.hearing < heardCharacters {
		s.heard.WriteString(segment.Text)
		s.hearing += segment.Characters
	}
	return speech.DetectLanguage(s.heard.String())
}

func (s *script) takeUnit() unit {
	n, characters := 0, 0
	for n < len(s.ready) && (n == 0 || characters+s.ready[n].Segment.Characters <= maxUnit) {
		characters += s.ready[n].Segment.Characters
		n++
	}
	u := unit{parts: s.ready[:n:n]}
	s.ready = s.ready[n:]
	s.waiting -= characters
	if len(s.ready) > 0 {
		return u
	}
	switch {
	case s.flushes():
		u.flush = true
		u.empty = len(s.passages) == 1 && s.end == markNone
	case s.end != markNone:
		u.flush, u.empty = true, true
		u.last = s.end == markFinish
		u.parts[n-1].Last = u.last
	}
	return u
}

// giveBack returns the remaining parts of a unit, unless a reset has dropped them.
func (s *script) giveBack(parts []part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.resets) > 0 {
		return
	}
	s.ready = append(parts[:len(parts):len(parts)], s.ready...)
	for _, p := range parts {
		s.waiting += p.Segment.Characters
	}
	signal(s.news)
}

// speaking sets the function that stops the new unit. If there is an unreported reset, the unit is stopped immediately.
func (s *script) speaking(interrupt func(cause error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt = interrupt
	if interrupt != nil && len(s.resets) > 0 {
		interrupt(errReset)
	}
}
