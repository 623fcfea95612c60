package enginetest

import (
	"math/rand/v2"
	"strings"
	"unicode"
)

// HostileText draws a text of the kinds that have broken engines: scripts mixed within words, marks without letters,
// digits next to letters of any script, very long words, stacked suffixes, emoji, format characters.
func HostileText(random *rand.Rand) string {
	var out strings.Builder
	own := alphabet(random)
	for range 1 + random.IntN(12) {
		out.WriteString(hostileWord(random, own))
		out.WriteString(pick(random, " ", " ", " ", "", "-", ", ", ". ", "\n", "; ", "? ", " – ", "… ", "/", "'", "’",
			"\u200d", "\u00a0"))
	}
	return out.String()
}

func hostileWord(random *rand.Rand, own *unicode.RangeTable) string {
	switch random.IntN(14) {
	case 0, 1, 2:
		return letters(random, own, 1+random.IntN(10))
	case 3:
		return letters(random, alphabet(random), 1+random.IntN(10))
	case 4:
		return letters(random, own, 1+random.IntN(4)) + letters(random, alphabet(random), 1+random.IntN(4))
	case 5:
		return pick(random, "1,234.50", "21st", "3.14", "007", "1999", "15200", "1e10", "½", "²", "٣٤", "१२३", "10:30", "-5",
			"+49", "$3", "50%", "0x1F", "99999999999")
	case 6:
		return pick(random, "12", "a1", "3") + letters(random, own, 1+random.IntN(3)) + pick(random, "7", "", "2b")
	case 7:
		return strings.Repeat(letters(random, own, 1+random.IntN(3)), 1+random.IntN(60))
	case 8:
		return strings.Repeat(pick(random, "s'", "ing", "'s", "un", "ness", "-", ".", "!?", "(", "\u0301", "\u0e31",
			"\u200f", "e.g."), 1+random.IntN(60))
	case 9:
		return pick(random, "😀", "👩‍👩‍👧‍👦", "🇩🇪", "❤️", "✈", "©", "™", "→", "∞", "≠", "№")
	case 10:
		return letters(random, own, 1) + strings.Repeat(letters(random, unicode.M, 1), random.IntN(20))
	case 11:
		return pick(random, "Hello", "World", "iPhone", "NATO", "Dr.", "e.g.", "isn't", "of the", "Müller", "naïve",
			"www.example.com", "a_b@c.de", "C++", "O'Brien")
	case 12:
		return letters(random, unicode.Latin, 1+random.IntN(12))
	default:
		return string(rune(random.IntN(0x2FFFF)))
	}
}

// letters draws letters or marks from a table.
func letters(random *rand.Rand, table *unicode.RangeTable, count int) string {
	var out strings.Builder
	for range count {
		out.WriteRune(runeOf(random, table))
	}
	return out.String()
}

func runeOf(random *rand.Rand, table *unicode.RangeTable) rune {
	if len(table.R16) == 0 {
		span := table.R32[random.IntN(len(table.R32))]
		return rune(span.Lo + random.Uint32N((span.Hi-span.Lo)/span.Stride+1)*span.Stride)
	}
	span := table.R16[random.IntN(len(table.R16))]
	return rune(uint32(span.Lo) + random.Uint32N(uint32(span.Hi-span.Lo)/uint32(span.Stride)+1)*uint32(span.Stride))
}

func alphabet(random *rand.Rand) *unicode.RangeTable {
	return pick(random,
		ascii, ascii, unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Arabic, unicode.Hebrew, unicode.Han,
		unicode.Hiragana,
		unicode.Katakana, unicode.Hangul, unicode.Devanagari, unicode.Devanagari, unicode.Bengali, unicode.Tamil,
		unicode.Telugu,
		unicode.Malayalam, unicode.Kannada, unicode.Gujarati, unicode.Gurmukhi, unicode.Oriya, unicode.Sinhala, unicode.Thai,
		unicode.Myanmar, unicode.Georgian, unicode.Armenian, unicode.Ethiopic, unicode.Cherokee, unicode.Khmer,
		unicode.Tibetan,
		unicode.Braille, unicode.M, unicode.S, unicode.P, unicode.N)
}

var ascii = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 'a', Hi: 'z', Stride: 1}, {Lo: 'A', Hi: 'Z', Stride: 1}}}

func pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

// PlainText draws a text of invented words in these letters, with ordinary punctuation and numbers.
func PlainText(random *rand.Rand, alphabet *unicode.RangeTable) string {
	var out strings.Builder
	for range 1 + random.IntN(40) {
		if random.IntN(12) == 0 {
			out.WriteString(pick(random, "1", "12", "1999", "3.14", "1,234", "10:30", "50%", "15200", "1000000"))
		} else {
			out.WriteString(letters(random, alphabet, 1+random.IntN(12)))
		}
		out.WriteString(pick(random, " ", " ", " ", " ", " ", ", ", ". ", "! ", "? ", "-", "’", ": ", " – ", " (", ") "))
	}
	return out.String()
}
