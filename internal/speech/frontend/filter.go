package frontend

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"regexp/syntax"
	"slices"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// filter finds the rules that may match at a position in one pass over the following text, so that other patterns are
// not tried: a line of digits and slashes begins forty of them. It is an automaton of all patterns of a locale, with
// states that are made on demand. To keep the states few, many repetitions in it are unlimited, and characters beyond
// ASCII that no pattern names are only classified as letters or others. So it may name rules that do not match, but
// never misses one that does.
type filter struct {
	places  []place
	start   *state
	classes map[rune]int // of the characters beyond ASCII that patterns name

	mu     sync.Mutex
	states map[string]*state // by the places
}

const (
	// maxStates is the number of states that a filter keeps: 2 kB each. The English tests need about 1,100.
	maxStates = 2000
	// maxSteps is the number of characters that a filter looks at.
	maxSteps = 24
	// maxRepeat is the highest limit of a repetition that a filter respects.
	maxRepeat = 4
	// maxNamed is the number of characters beyond ASCII that a place may name: a set of more is a kind of characters.
	maxNamed = 256
)

// The classes of characters with the same transitions. Each ASCII character is a class of its own.
const (
	otherLetter = utf8.RuneSelf + iota
	otherMark
	firstNamed
)

// place is an instruction of a rule's pattern.
type place struct {
	syntax.Inst
	rule           int
	first          int  // the place of the pattern's instruction 0
	letters, marks bool // characters of the classes otherLetter and otherMark may stand at it
}

// state is what may be matched after some characters.
type state struct {
	places  []int // at which a character is expected
	alive   ruleSet
	matched ruleSet                 // of which the pattern is complete
	next    []atomic.Pointer[state] // by the class of the character
}

// ruleSet is a set of the indices of rules.
type ruleSet [2]uint64

// maxRules is the number of rules that a locale may have.
const maxRules = 128

func (s *ruleSet) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s *ruleSet) addAll(other ruleSet) {
	s[0] |= other[0]
	s[1] |= other[1]
}

func (s ruleSet) without(other ruleSet) ruleSet { return ruleSet{s[0] &^ other[0], s[1] &^ other[1]} }

// all returns the indices in order.
func (s ruleSet) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(64*i + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// newFilter returns the filter of at most maxRules rules.
func newFilter(rules []rule) *filter {
	f := &filter{classes: map[rune]int{}, states: map[string]*state{}}
	var starts []int
	for i, r := range rules {
		starts = append(starts, f.add(i, r.pattern.String()))
	}
	f.start = f.stateOf(starts)
	return f
}

// add adds a rule's pattern and returns the place where it starts.
func (f *filter) add(rule int, pattern string) int {
	program, err := syntax.Compile(unlimited(parsed(pattern)).Simplify())
	if err != nil {
		panic(err)
	}
	first := len(f.places)
	for _, inst := range program.Inst {
		p := place{Inst: inst, rule: rule, first: first}
		f.name(&p)
		f.places = append(f.places, p)
	}
	return first + program.Start
}

func parsed(pattern string) *syntax.Regexp {
	expression, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(err) // it has been compiled
	}
	return expression
}

// allLetters are the ranges of the letters beyond ASCII.
var allLetters = sync.OnceValue(func() []rune { return beyondASCII(parsed(`\pL`).Rune) })

// name gives classes to the characters that a place names.
func (f *filter) name(p *place) {
	ranges := beyondASCII(p.characters())
	count := rune(0)
	for pair := range slices.Chunk(ranges, 2) {
		count += pair[1] - pair[0] + 1
	}
	if count > maxNamed {
		p.letters, p.marks = true, !slices.Equal(ranges, allLetters())
		return
	}
	for pair := range slices.Chunk(ranges, 2) {
		for r := pair[0]; r <= pair[1]; r++ {
			if f.classes[r] == 0 {
				f.classes[r] = firstNamed + len(f.classes)
			}
		}
	}
}

// characters returns the ranges of the characters that may stand at a place, by their first and last ones.
func (p *place) characters() []rune {
	if len(p.Rune) != 1 {
		return p.Rune
	}
	ranges := []rune{p.Rune[0], p.Rune[0]}
	if syntax.Flags(p.Arg)&syntax.FoldCase != 0 {
		for r := unicode.SimpleFold(p.Rune[0]); r != p.Rune[0]; r = unicode.SimpleFold(r) {
			ranges = append(ranges, r, r)
		}
	}
	return ranges
}

// beyondASCII returns the parts of ranges that are beyond ASCII.
func beyondASCII(ranges []rune) (beyond []rune) {
	for pair := range slices.Chunk(ranges, 2) {
		if pair[1] >= utf8.RuneSelf {
			beyond = append(beyond, max(pair[0], utf8.RuneSelf), pair[1])
		}
	}
	return beyond
}

// unlimited makes repetitions without limits of those with high ones.
func unlimited(pattern *syntax.Regexp) *syntax.Regexp {
	for i, part := range pattern.Sub {
		pattern.Sub[i] = unlimited(part)
	}
	if pattern.Op == syntax.OpRepeat && (pattern.Max < 0 || pattern.Max > maxRepeat) {
		pattern.Min, pattern.Max = min(pattern.Min, maxRepeat), -1
	}
	return pattern
}

// candidates are the rules that may match at a position.
type candidates struct {
	rules ruleSet
	// reach is, for each of them, the part of the text in bytes that its pattern depends on
	reach [maxRules]uint8
	work  int // the characters looked at
}

// candidates returns the rules that may match at the beginning of a text of at most window bytes.
func (f *filter) candidates(text string) (found candidates) {
	s := f.start
	found.rules = s.matched
	for at := 0; at < len(text); found.work++ {
		r, size := utf8.DecodeRuneInString(text[at:])
		at += size
		next := f.step(s, r)
		if next == nil || found.work == maxSteps {
			found.rules.addAll(s.alive)
			break
		}
		if dropped := s.alive.without(next.alive); dropped != (ruleSet{}) {
			_, after := utf8.DecodeRuneInString(text[at:]) // before which a word may have to end
			found.reached(dropped, at+after)
		}
		s = next
		found.rules.addAll(s.matched)
		if len(s.places) == 0 {
			return found
		}
	}
	found.reached(s.alive, len(text))
	return found
}

// reached notes the end of the text that was examined for rules.
func (c *candidates) reached(rules ruleSet, size int) {
	for i := range rules.all() {
		c.reach[i] = uint8(size)
	}
}

// step returns the state after a character, nil if there are too many.
func (f *filter) step(s *state, r rune) *state {
	class := f.class(r)
	if next := s.next[class].Load(); next != nil {
		return next
	}
	var places []int
	for _, p := range s.places {
		if f.places[p].accepts(r, class) {
			places = append(places, f.places[p].first+int(f.places[p].Out))
		}
	}
	next := f.stateOf(places)
	if next != nil {
		s.next[class].Store(next)
	}
	return next
}

func (f *filter) class(r rune) int {
	if r < utf8.RuneSelf {
		return int(r)
	}
	if class := f.classes[r]; class != 0 {
		return class
	}
	if unicode.IsLetter(r) {
		return otherLetter
	}
	return otherMark
}

// accepts reports whether a character of a class may stand at a place.
func (p *place) accepts(r rune, class int) bool {
	switch class {
	case otherLetter:
		return p.letters
	case otherMark:
		return p.marks
	default:
		return p.MatchRune(r)
	}
}

// stateOf returns the state that begins at places, nil if there are too many states.
func (f *filter) stateOf(places []int) *state {
	s := &state{next: make([]atomic.Pointer[state], firstNamed+len(f.classes))}
	seen := map[int]bool{}
	for _, p := range places {
		f.follow(s, p, seen)
	}
	slices.Sort(s.places)
	key := s.key()
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.states[key]; known != nil {
		return known
	}
	if len(f.states) == maxStates {
		return nil
	}
	f.states[key] = s
	return s
}

// follow adds the places that are reached from one without a character.
func (f *filter) follow(s *state, at int, seen map[int]bool) {
	if seen[at] {
		return
	}
	seen[at] = true
	p := &f.places[at]
	switch p.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		f.follow(s, p.first+int(p.Out), seen)
		f.follow(s, p.first+int(p.Arg), seen)
	case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
		f.follow(s, p.first+int(p.Out), seen)
	case syntax.InstMatch:
		s.matched.add(p.rule)
	case syntax.InstFail:
	default:
		s.places = append(s.places, at)
		s.alive.add(p.rule)
	}
}

// key identifies a state by its matches and its expected patterns.
func (s *state) key() string {
	key := binary.AppendUvarint(binary.AppendUvarint(nil, s.matched[0]), s.matched[1])
	for _, place := range s.places {
		key = binary.AppendUvarint(key, uint64(place))
	}
	return string(key)
}
