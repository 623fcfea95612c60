package espeak

import (
	"slices"
	"strings"
	"unicode"

	"github.com/recital-tts/recital/internal/speech"
)

// maxRehearsals is the maximum number of rehearsals before the first audio of a job. Each takes as long as the
// synthesis, some milliseconds.
const maxRehearsals = 60

// anyCutRunes is the number of code points from which a word may be cut anywhere.
const anyCutRunes = 16

// careful determines the parts of a job that espeak-ng survives, by synthesising them in children and discarding the
// audio.
type careful struct {
	server *server
	task   task
	left   int    // rehearsals
	safe   []part // survived together
}

// makeSafe removes the parts of an order that crash espeak-ng.
func (s *server) makeSafe(t task, o order) (order, error) {
	c := &careful{server: s, task: t, left: maxRehearsals}
	if ok, err := c.add(o.parts...); ok || err != nil {
		return o, err
	}
	for _, p := range o.parts {
		if err := c.addPieces(p); err != nil {
			return order{}, err
		}
	}
	return order{parts: c.safe}, nil
}

// add adds parts if espeak-ng survives them after the earlier ones, because damage to its memory may crash it later.
func (c *careful) add(parts ...part) (bool, error) {
	if c.left == 0 {
		return false, nil
	}
	c.left--
	all := slices.Concat(c.safe, parts)
	died, err := c.server.carryOut(order{rehearsal: true, parts: all})
	if died != nil || err != nil {
		return false, err
	}
	c.safe = all
	return true, nil
}

// addPieces halves a part until espeak-ng survives the pieces. It omits a word that espeak-ng survives neither in the
// part's language nor in the language of its script.
func (c *careful) addPieces(p part) error {
	if ok, err := c.add(p); ok || err != nil {
		return err
	}
	text := []rune(p.text)
	at := cutNearMiddle(text)
	if !slices.ContainsFunc(text, unicode.IsSpace) {
		foreign := p
		var err error
		if foreign.voice, err = c.task.voice(speech.ScriptLanguage(p.text)); err != nil {
			return err
		}
		if ok, err := c.add(foreign); ok || err != nil {
			return err
		}
	}
	if at == 0 || c.left == 0 || p.isSound() {
		return nil
	}
	first, second := p.cut(text, at)
	if err := c.addPieces(first); err != nil {
		return err
	}
	return c.addPieces(second)
}

// isSound reports whether a part is a word in phonemes, which cannot be cut.
func (p part) isSound() bool {
	return p.sounds && strings.Contains(p.text, "[[") && len(strings.Fields(p.text)) == 1
}

// cut splits a part into two.
func (p part) cut(text []rune, at int) (first, second part) {
	first, second = p, p
	first.text, second.text = string(text[:at]), string(text[at:])
	first.endPause, first.silence = false, 0
	added, _ := slices.BinarySearch(p.breaks, uint32(at))
	first.breaks = p.breaks[:added]
	second.breaks = make([]uint32, 0, len(p.breaks)-added)
	for _, i := range p.breaks[added:] {
		second.breaks = append(second.breaks, i-uint32(at))
	}
	second.start = p.start + at - added
	return first, second
}

// cutNearMiddle returns the best position to cut a text in two: before the word that begins nearest to its middle, or
// else at a change of script, or else in the middle of a long word. It returns 0 if there is none.
func cutNearMiddle(text []rune) int {
	for _, begins := range []func(before, r rune) bool{beginsWord, changesScript} {
		if at := nearestToMiddle(text, begins); at > 0 {
			return at
		}
	}
	if len(text) >= anyCutRunes {
		return len(text) / 2
	}
	return 0
}

func nearestToMiddle(text []rune, cuttable func(before, r rune) bool) int {
	best := 0
	for i := 1; i < len(text); i++ {
		if cuttable(text[i-1], text[i]) && abs(2*i-len(text)) < abs(2*best-len(text)) {
			best = i
		}
	}
	return best
}

func beginsWord(before, r rune) bool { return unicode.IsSpace(before) && !unicode.IsSpace(r) }

func changesScript(before, r rune) bool {
	if unicode.IsMark(r) || unicode.IsMark(before) {
		return false
	}
	return unicode.IsLetter(before) != unicode.IsLetter(r) ||
		speech.ScriptLanguage(string(before)) != speech.ScriptLanguage(string(r))
}

func abs(n int) int { return max(n, -n) }
