package frontend

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"regexp/syntax"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// filter finds the rules that may match at a position in one pass over what follows, so that the patterns of the others
// are not tried: a line of digits and slashes begins forty of them. It is an automaton of all patterns of a locale,
// whose states are made when a text first leads to them. In it, many repetitions are unlimited and all characters
// beyond ASCII are alike, which keeps the states few; so it may name rules that do not match, but misses none that do.
type filter struct {
	places []place
	start  *state
	begins [][]int // the places at the start of each rule

	mu     sync.Mutex
	states map[string]*state // by the places
}

const (
	// maxStates is the number of states that a filter keeps: 1 kB each. The texts of the tests need about 150.
	maxStates = 2000
	// maxSteps is the number of characters that a filter looks at.
	maxSteps = 24
	// maxRepeat is the highest limit of a repetition that a filter respects.
	maxRepeat = 4
	// beyondASCII stands for every character that is not ASCII.
	beyondASCII = utf8.RuneSelf
)

// place is an instruction of a rule's pattern.
type place struct {
	syntax.Inst
	rule  int
	first int // the place of the pattern's instruction 0
}

// state is what may be matched after some characters.
type state struct {
	places  []int // at which a character is expected
	alive   ruleSet
	matched ruleSet // of which the pattern is complete
	next    [beyondASCII + 1]atomic.Pointer[state]
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
	f := &filter{states: map[string]*state{}}
	var starts []int
	for i, r := range rules {
		start := f.add(i, r.pattern.String())
		starts = append(starts, start)
		f.begins = append(f.begins, f.stateOf([]int{start}).places)
	}
	f.start = f.stateOf(starts)
	return f
}

// add adds a rule's pattern and returns the place where it starts.
func (f *filter) add(rule int, pattern string) int {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(err) // it has been compiled
	}
	program, err := syntax.Compile(unlimited(parsed).Simplify())
	if err != nil {
		panic(err)
	}
	first := len(f.places)
	for _, inst := range program.Inst {
		f.places = append(f.places, place{inst, rule, first})
	}
	return first + program.Start
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

// begin reports whether a rule may match a text that begins with a character. The states do not tell apart characters
// beyond ASCII.
func (f *filter) begin(rule int, first rune) bool {
	return first < beyondASCII ||
		slices.ContainsFunc(f.begins[rule], func(at int) bool { return f.places[at].MatchRune(first) })
}

// reached notes how far the text was looked at for rules.
func (c *candidates) reached(rules ruleSet, size int) {
	for i := range rules.all() {
		c.reach[i] = uint8(size)
	}
}

// step returns the state after a character, nil if there are too many.
func (f *filter) step(s *state, r rune) *state {
	r = min(r, beyondASCII)
	if next := s.next[r].Load(); next != nil {
		return next
	}
	var places []int
	for _, p := range s.places {
		if f.places[p].accepts(r) {
			places = append(places, f.places[p].first+int(f.places[p].Out))
		}
	}
	next := f.stateOf(places)
	if next != nil {
		s.next[r].Store(next)
	}
	return next
}

// accepts reports whether a character may stand at a place.
func (p *place) accepts(r rune) bool {
	if r < beyondASCII {
		return p.MatchRune(r)
	}
	switch folds := len(p.Rune) == 1 && syntax.Flags(p.Arg)&syntax.FoldCase != 0; {
	case p.Op == syntax.InstRuneAny || p.Op == syntax.InstRuneAnyNotNL || folds:
		return true
	default:
		return slices.ContainsFunc(p.Rune, func(r rune) bool { return r >= beyondASCII })
	}
}

// stateOf returns the state that begins at places, nil if there are too many states.
func (f *filter) stateOf(places []int) *state {
	s := &state{}
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

// key tells states apart: by what was matched and what is expected.
func (s *state) key() string {
	key := binary.AppendUvarint(binary.AppendUvarint(nil, s.matched[0]), s.matched[1])
	for _, place := range s.places {
		key = binary.AppendUvarint(key, uint64(place))
	}
	return string(key)
}
