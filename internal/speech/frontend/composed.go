package frontend

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// composition is a text as it is written and in its composed form (NFC), in which the tables have their letters.
type composition struct {
	text, composed string
	characters     []character // and the end
}

// character is where a character begins in the text and in its composed form.
type character struct{ written, composed int }

func compose(text string) composition {
	c := composition{text: text}
	var out strings.Builder
	var characters norm.Iter
	characters.InitString(norm.NFC, text)
	for !characters.Done() {
		c.characters = append(c.characters, character{characters.Pos(), out.Len()})
		out.Write(characters.Next())
	}
	c.composed, c.characters = out.String(), append(c.characters, character{len(text), out.Len()})
	return c
}

// spans converts spans of the composed form into spans of the text. Decomposed letters of plain text are spans of their
// own.
func (c composition) spans(language string, given []Reading) (out []Span) {
	given = slices.Clone(given)
	for i := range given {
		given[i].Start, given[i].End = c.composedAt(given[i].Start), c.composedAt(given[i].End)
	}
	at := 0
	for _, s := range spansOf(c.composed, language, given) {
		for end := at + len(s.Original); at < end; {
			to := end
			if s.Kind == Plain || s.Kind == Letter {
				to, s.Kind = c.run(at, end)
				s.Spoken = c.composed[at:to]
			}
			s.Original = c.text[c.writtenAt(at):c.writtenAt(to)]
			out = append(out, s)
			at = to
		}
	}
	return out
}

// run returns the end and the kind of what begins at a place in the composed form: a letter that is written otherwise,
// or plain text up to the next of these.
func (c composition) run(at, end int) (int, Kind) {
	for to := at; to < end; {
		_, size := utf8.DecodeRuneInString(c.composed[to:])
		switch alike := c.text[c.writtenAt(to):c.writtenAt(to+size)] == c.composed[to:to+size]; {
		case !alike && to == at:
			return to + size, Letter
		case !alike:
			return to, Plain
		}
		to += size
	}
	return end, Plain
}

// composedAt returns the place in the composed form of the character at or after a place in the text.
func (c composition) composedAt(written int) int {
	i, _ := slices.BinarySearchFunc(c.characters, written, func(b character, at int) int { return b.written - at })
	return c.characters[i].composed
}

// writtenAt returns the place in the text of the character at or after a place in the composed form.
func (c composition) writtenAt(composed int) int {
	i, _ := slices.BinarySearchFunc(c.characters, composed, func(b character, at int) int { return b.composed - at })
	return c.characters[i].written
}
