package synthesis

import (
	"context"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/speech"
)

const (
	// maxWaiting bounds the queued characters: reading from the client pauses until there is room.
	maxWaiting = 32 << 10
	// markWeight is the weight of a flush in characters, so that flushes without text are bounded, too.
	markWeight = 16
	// maxUnit bounds the characters of a unit, as those of a request are bounded.
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
)

// entry is text, or a command on the text before it.
type entry struct {
	text  string
	mark  mark
	nonce *int64
	// overtaken are the flushes that a reset overtook.
	overtaken []*int64
}

func (e entry) weight() int {
	if e.mark != markNone {
		return markWeight
	}
	return utf8.RuneCountInString(e.text)
}

// part is a segment with its language.
type part struct {
	speech.Part
	language string
}

// unit is what is spoken under one reservation: the text up to a flush, or the segments that were complete when the
// one before had been spoken.
type unit struct {
	parts []part
	flush bool // a flush follows: no audio may remain in the encoder
	last  bool // the session ends after it
	empty bool // nothing else is queued
}

func (u unit) characters() (n int64) {
	for _, p := range u.parts {
		n += int64(p.Segment.Characters)
	}
	return n
}

// step is the next thing to do: a unit, or a mark that was reached.
type step struct {
	entry
	unit unit
}

// script is the text of a session from its arrival until it is spoken.
type script struct {
	language string
	draining <-chan struct{}
	news     chan struct{} // of capacity 1: there is something to do
	room     chan struct{} // of capacity 1: something was done

	mu        sync.Mutex
	entries   []entry
	segmenter speech.Segmenter
	ready     []part // segmented, to be spoken
	waiting   int    // weight of everything queued
	ended     bool   // nothing more is accepted
	drained   bool
	heard     strings.Builder
	hearing   int               // characters in heard
	later     bool              // not the first segment since the beginning, a flush or a reset
	interrupt func(cause error) // stops the unit that is being spoken
}

func newScript(language string, draining <-chan struct{}) *script {
	return &script{language: language, draining: draining, news: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// add waits for room.
func (s *script) add(ctx context.Context, e entry) error {
	for !s.offer(e) {
		select {
		case <-s.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (s *script) offer(e entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return true
	}
	weight := e.weight()
	if s.waiting > 0 && s.waiting+weight > maxWaiting {
		return false
	}
	s.append(e)
	s.ended = e.mark == markFinish
	return true
}

func (s *script) append(e entry) {
	s.entries = append(s.entries, e)
	s.waiting += e.weight()
	signal(s.news)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// reset overtakes everything queued, and the unit that is being spoken.
func (s *script) reset(nonce *int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reset := entry{mark: markReset, nonce: nonce}
	var before, after []entry // resets that were not reported yet, and the end
	for _, e := range s.entries {
		switch e.mark {
		case markFlush:
			reset.overtaken = append(reset.overtaken, e.nonce)
		case markReset:
			before = append(before, e)
		case markFinish, markDrain:
			after = append(after, e)
		}
	}
	s.forget()
	for _, e := range slices.Concat(before, []entry{reset}, after) {
		s.append(e)
	}
	if s.interrupt != nil {
		s.interrupt(errReset)
	}
	signal(s.room)
}

// forget drops all text.
func (s *script) forget() {
	s.entries, s.ready, s.waiting = nil, nil, 0
	s.segmenter.Reset()
	s.heard.Reset()
	s.hearing, s.later = 0, false
}

// drain keeps what precedes the last flush, and ends after it.
func (s *script) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drained {
		return
	}
	s.drained = true
	keep := len(s.entries)
	for keep > 0 && s.entries[keep-1].mark == markNone {
		keep--
	}
	switch {
	case keep > 0 && s.entries[keep-1].mark == markFinish:
	case keep > 0:
		s.entries = s.entries[:keep]
		s.append(entry{mark: markDrain})
	default:
		s.forget()
		s.append(entry{mark: markDrain})
	}
	s.ended = true
	signal(s.room)
}

// next waits for something to do.
func (s *script) next(ctx context.Context) (step, error) {
	draining := s.draining
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
	s.cut()
	if len(s.ready) > 0 {
		return step{unit: s.takeUnit()}, true
	}
	if len(s.entries) == 0 {
		return step{}, false
	}
	next := s.entries[0] // cut has taken the text before it
	s.entries = s.entries[1:]
	s.waiting -= next.weight()
	if next.mark == markFlush {
		s.later = false
	}
	return step{entry: next}, true
}

// cut moves text, up to the next mark, into segments.
func (s *script) cut() {
	for len(s.entries) > 0 && s.entries[0].mark == markNone {
		s.segmenter.Add(s.entries[0].text)
		s.entries = s.entries[1:]
	}
	next := s.segmenter.Next
	if len(s.entries) > 0 {
		next = s.segmenter.Flush
	}
	for segment, ok := next(); ok; segment, ok = next() {
		s.ready = append(s.ready, part{speech.Part{Segment: segment, First: !s.later}, s.languageOf(segment)})
		s.later = true
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
	if len(s.ready) == 0 && len(s.entries) > 0 {
		u.flush = true
		u.last = s.entries[0].mark == markFinish
		u.empty = len(s.entries) == 1
		u.parts[n-1].Last = u.last
	}
	return u
}

// giveBack returns parts of a unit that were not begun, unless a reset has dropped them.
func (s *script) giveBack(parts []part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resetWaits() {
		return
	}
	s.ready = append(parts[:len(parts):len(parts)], s.ready...)
	for _, p := range parts {
		s.waiting += p.Segment.Characters
	}
	signal(s.news)
}

// speaking sets the function that stops the unit which begins now; if a reset came before, the unit is stopped at
// once.
func (s *script) speaking(interrupt func(cause error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt = interrupt
	if interrupt != nil && s.resetWaits() {
		interrupt(errReset)
	}
}

func (s *script) resetWaits() bool {
	return slices.ContainsFunc(s.entries, func(e entry) bool { return e.mark == markReset })
}
