package speech

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/recital-tts/recital/internal/speech/frontend"
)

// breakKind is how suitable a position in a text is for a cut.
type breakKind int

const (
	breakNone breakKind = iota
	breakSpace
	breakClause
	breakSentence
)

// maxClusterRunes is the maximum length of an atom. Unicode does not limit the number of marks on a letter.
const maxClusterRunes = 32

// atom is a grapheme cluster, or part of a very long one, with the kind of break after it.
type atom struct {
	start, end int // byte offsets
	first      rune
	weight     int
	after      breakKind
}

// scanAtoms splits the text into atoms and finds the breaks between them.
func scanAtoms(text string) []atom {
	atoms := make([]atom, 0, len(text))
	state, rest, at := -1, text, 0
	for rest != "" {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		atoms = appendCluster(atoms, cluster, at)
		at += len(cluster)
	}
	findBreaks(text, atoms)
	return atoms
}

func appendCluster(atoms []atom, cluster string, at int) []atom {
	for cluster != "" {
		a := atom{start: at}
		size, runes := 0, 0
		for ; size < len(cluster) && runes < maxClusterRunes; runes++ {
			r, n := utf8.DecodeRuneInString(cluster[size:])
			if runes == 0 {
				a.first = r
			}
			a.weight = max(a.weight, runeWeight(r))
			size += n
		}
		a.weight = max(a.weight, runes) // a weight bounds the number of characters, too
		at += size
		a.end = at
		atoms = append(atoms, a)
		cluster = cluster[size:]
	}
	return atoms
}

// runeWeight estimates how long a character takes to speak, in Latin letters.
func runeWeight(r rune) int {
	switch {
	case r < utf8.RuneSelf && unicode.IsLetter(r), unicode.IsSpace(r):
		return 1
	case unicode.IsNumber(r):
		return 5
	case isSymbol(r):
		return 10
	case unicode.IsPunct(r), unicode.Is(unicode.Latin, r):
		return 1
	default:
		return 2
	}
}

// isSymbol reports whether a character that is not a letter may be spoken by its name.
func isSymbol(r rune) bool {
	return unicode.IsSymbol(r) || strings.ContainsRune("@#%&*/\\_§¶‰", r)
}

// findBreaks marks the atoms after which the text can be cut. White space belongs to the atom before it.
func findBreaks(text string, atoms []atom) {
	strength := breakNone // of the punctuation before the atom
	lines, line := 0, 0   // line ends since the last word, and the first atom of the line
	for i := range atoms {
		a := &atoms[i]
		next := followingRune(atoms, i)
		switch {
		case unicode.IsSpace(a.first):
			if a.first == '\n' || a.first == '\u2029' {
				lines++
			}
			if unicode.IsSpace(next) {
				break
			}
			if lines > 1 || lines == 1 && !(strength == breakNone && isBroken(atoms[line:i], atoms[i+1:])) {
				strength = breakSentence
			}
			if lines > 0 {
				line = i + 1
			}
			a.after = max(strength, breakSpace)
			if strength == breakNone && (isOpening(next) || isLoneDash(atoms, i+1)) || next == '=' && lines == 1 {
				a.after = breakNone // the pause depends on the next word
			}
			strength, lines = breakNone, 0
		case isSentenceMark(a.first):
			strength = breakSentence
			if a.first == '.' && !endsSentence(text[:a.start], atoms[i+1:]) {
				strength = breakNone
			}
		case isClauseMark(a.first):
			strength = max(strength, breakClause)
		case a.first == '-' && strength == breakNone && unicode.IsSpace(next) && i > 0 && unicode.IsSpace(atoms[i-1].first):
			strength = breakClause
		case isCloser(a.first):
			if isClosing(a.first) {
				strength = max(strength, breakClause)
			}
		default:
			strength = breakNone
		}
		if isWideMark(a.first) && !unicode.IsSpace(next) && !isCloser(next) && !isSentenceMark(next) {
			a.after = strength
		}
	}
}

// isLoneDash reports whether an atom is a dash, or a hyphen with white space after it.
func isLoneDash(atoms []atom, i int) bool {
	if i >= len(atoms) {
		return false
	}
	r := atoms[i].first
	return isDash(r) || r == '-' && (unicode.IsSpace(followingRune(atoms, i)) || followingRune(atoms, i) == '-')
}

func followingRune(atoms []atom, i int) rune {
	if i+1 < len(atoms) {
		return atoms[i+1].first
	}
	return 0
}

func isSentenceMark(r rune) bool {
	return strings.ContainsRune(".!?…‽。！？｡．؟۔।॥።։", r)
}

func isClauseMark(r rune) bool { return strings.ContainsRune(",;:—–،؛、，；：､፣፤", r) }

// isWideMark reports whether a mark ends a sentence or clause without white space after it.
func isWideMark(r rune) bool { return strings.ContainsRune("。！？｡．、，；：､", r) }

func isCloser(r rune) bool {
	return r == '"' || r == '\'' || unicode.In(r, unicode.Pe, unicode.Pf)
}

// endsSentence reports whether a full stop ends a sentence. After an abbreviation or an initial, or before lower case,
// it does not.
func endsSentence(before string, after []atom) bool {
	next := rune(0)
	for _, a := range after {
		if !unicode.IsSpace(a.first) && !isCloser(a.first) && !unicode.Is(unicode.Ps, a.first) {
			next = a.first
			break
		}
	}
	return !unicode.IsLower(next) && !isAbbreviation(lastWord(before), next) && !isGerman(before, after) &&
		!isRussianTown(before)
}

// isRussianTown reports whether a full stop belongs to "г." before the name of a town, rather than after a year's
// number.
func isRussianTown(before string) bool {
	earlier, ok := strings.CutSuffix(before, "г")
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(earlier, " \u00a0"))
	return ok && lastWord(before) == "г" && !unicode.IsNumber(last)
}

// maxFollowing is the maximum number of letters of a word that is examined after a full stop.
const maxFollowing = 16

// isGerman reports whether a full stop belongs to a German ordinal number ("am 3. Oktober"), to the first letter of an
// abbreviation ("z. B."), or to an abbreviation before a noun or a number.
func isGerman(before string, after []atom) bool {
	word := lastWord(before)
	following, dotted := followingWord(after)
	if r, size := utf8.DecodeRuneInString(word); size == len(word) && unicode.IsLower(r) {
		return dotted || following == "Chr"
	}
	if len(word) <= 3 && word != "" && strings.Trim(word, "0123456789") == "" {
		return frontend.IsGermanOrdinal(lastWord(strings.TrimRight(before[:len(before)-len(word)], " ")), following)
	}
	switch word {
	case "Mio", "Mrd", "Tsd", "Hrn", "Frl", "inkl", "zzgl", "ggf", "evtl", "vgl", "sog", "bspw", "insb":
		return true
	case "Abb", "Abs", "Kap", "Bd", "Tel", "Okt", "Dez":
		return len(after) > 1 && unicode.IsNumber(after[1].first)
	}
	return strings.HasSuffix(word, "str") && len(after) > 1 && unicode.IsNumber(after[1].first)
}

// followingWord returns the next word after a full stop and white space, and whether it is a letter with a full stop.
// For a word longer than maxFollowing it returns "".
func followingWord(after []atom) (word string, dotted bool) {
	for i, a := range after {
		switch {
		case unicode.IsLetter(a.first) && len([]rune(word)) < maxFollowing:
			word += string(a.first)
		case unicode.IsLetter(a.first):
			return "", false
		case word != "" || !unicode.IsSpace(a.first) || i > maxFollowing:
			return word, a.first == '.' && utf8.RuneCountInString(word) == 1
		}
	}
	return word, false
}

const maxAbbreviation = 12 // bytes

// lastWord returns the last word of the text with its punctuation, or "" if it is too long for an abbreviation.
func lastWord(text string) string {
	short := text[max(len(text)-maxAbbreviation, 0):]
	if i := strings.LastIndexFunc(short, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.In(r, unicode.Ps, unicode.Pi, unicode.Pd) || r == '"'
	}); i >= 0 {
		_, size := utf8.DecodeRuneInString(short[i:])
		return short[i+size:]
	}
	if len(short) < len(text) {
		return ""
	}
	return short
}

// isAbbreviation reports whether a word is written with a full stop before a capital letter or a number.
func isAbbreviation(word string, next rune) bool {
	if r, size := utf8.DecodeRuneInString(word); size == len(word) && unicode.IsUpper(r) {
		return true // an initial, "J. Smith"
	}
	if strings.Contains(word, ".") && !strings.ContainsFunc(word, unicode.IsNumber) {
		return true // "e.g.", "U.S.", "z.B."
	}
	switch strings.ToLower(word) {
	case "mr", "mrs", "ms", "dr", "prof", "st", "mt", "vs", "rev", "hon", "gen", "col", "lt", "sgt", "capt", "gov",
		"sen", "rep", "pres", "messrs", "mme", "mlle", "sra", "srta", "hr", "fr", "ing", "bzw", "ca", "cf", "approx",
		"sr", "sres", "dra", "ud", "uds", "ej", "sig", "dott", "avv", "av", "ee",
		"ul", "mgr", "inż", "ks", "płk", "św", "dhr", "mevr", "drs", "bijv",
		"ул", "пл", "пер", "просп", "обл", "пос", "дер", "проф", "акад", "доц", "им", "св", "см", "напр":
		return true
	case "no", "nos", "nr", "art", "vol", "pp", "p", "fig", "figs", "sec", "ch", "eq", "jan", "feb", "mar", "apr",
		"jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "pág", "págs", "pag", "núm", "cap", "chap", "tél",
		"str", "rys", "godz", "ust", "tel", "ok", "blz", "hfst", "afb", "д", "кв", "стр", "рис", "табл", "гл", "тел", "ст":
		return unicode.IsNumber(next)
	}
	return false
}
