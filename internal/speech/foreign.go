package speech

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/speech/frontend"
	"github.com/recital-tts/recital/internal/speech/pinyin"
)

// Engine languages of Chinese. In the first, the engine reads letters as English; in the second, as Pinyin with tones.
const (
	mandarin = "cmn"
	spelled  = "cmn-latn-pinyin"
)

// inTheirLanguages cuts plain spans at runs of a foreign script, which are spoken in the language of that script.
// Chinese is spelled in Pinyin.
func inTheirLanguages(spans []frontend.Span, language string) []frontend.Span {
	isForeign := isWrittenInLatin(language) && slices.ContainsFunc(spans, hasOtherScripts)
	if language != mandarin && language != kana && !isForeign {
		return spans
	}
	out := make([]frontend.Span, 0, len(spans)+2)
	for _, s := range spans {
		if s.Kind == frontend.Plain {
			out = appendRuns(out, s)
			continue
		}
		out = append(out, s)
	}
	return out
}

func hasOtherScripts(s frontend.Span) bool {
	return s.Kind == frontend.Plain && strings.ContainsFunc(s.Original, func(r rune) bool { return r >= '\u0370' })
}

// isWrittenInLatin reports whether an engine language is written in Latin letters alone.
func isWrittenInLatin(language string) bool { return !languages().other[language] }

// appendRuns appends a plain span, cut into pieces of one language each.
func appendRuns(out []frontend.Span, s frontend.Span) []frontend.Span {
	text, from := s.Original, 0
	for at := 0; at < len(text); {
		if a, ok := amountAt(text, at, s.Language); ok {
			if at > from {
				out = append(out, plain(text[from:at], s.Language))
			}
			out = append(out, a)
			at += len(a.Original)
			from = at
			continue
		}
		size, language := runAt(text[at:], s.Language)
		if language == "" {
			at += size
			continue
		}
		if at > from {
			out = append(out, plain(text[from:at], s.Language))
		}
		switch run := text[at : at+size]; language {
		case mandarin:
			out = appendSpelled(out, run, pinyin.Spell([]rune(run)))
		default:
			out = append(out, plain(run, language))
		}
		at += size
		from = at
	}
	if from < len(text) {
		out = append(out, plain(text[from:], s.Language))
	}
	return out
}

func plain(text, language string) frontend.Span {
	return frontend.Span{Original: text, Spoken: text, Kind: frontend.Plain, Language: language}
}

// runAt returns the size and the language of the foreign run at the start of a text, or "" and the size of the text to
// skip. A single letter of an alphabet is a symbol, not a run.
func runAt(text string, language string) (size int, of string) {
	r, first := utf8.DecodeRuneInString(text)
	of = scriptLanguageOf(r)
	if of == "" || language == kana || of == "en-us" && language != mandarin {
		return first, ""
	}
	letters := 0
	for i, r := range text {
		switch other := scriptLanguageOf(r); {
		case other == of || other == "ja" && of == mandarin || other == mandarin && of == "ja":
			if other == "ja" {
				of = "ja"
			}
			letters++
			size = i + utf8.RuneLen(r)
		case unicode.IsMark(r) || unicode.Is(unicode.Cf, r):
			size = i + utf8.RuneLen(r)
		case r != ' ' && r != 'ー':
			return lone(size, letters, of, language)
		}
	}
	return lone(size, letters, of, language)
}

func lone(size, letters int, of, language string) (int, string) {
	if letters == 1 && of != mandarin && of != "ja" && of != "en-us" || of == "ja" && language == mandarin {
		return size, ""
	}
	return size, of
}

// scriptLanguageOf returns the language of a letter's script, or "" for other characters.
func scriptLanguageOf(r rune) string {
	if !unicode.IsLetter(r) && r != '〇' {
		return ""
	}
	if r < '\u0250' {
		return "en-us"
	}
	for _, s := range languages().scripts {
		if unicode.Is(s.script, r) || r == '〇' && s.language == mandarin {
			return s.language
		}
	}
	return ""
}

// amountAt returns the span of a number, amount or address at a position of a Chinese text, or of an address in a
// Japanese one.
func amountAt(text string, at int, language string) (frontend.Span, bool) {
	if language != mandarin && language != kana {
		return frontend.Span{}, false
	}
	if address, ok := addressAt(text, at); ok || language != mandarin {
		return address, ok
	}
	a, ok := pinyin.AmountAt(text, at)
	return frontend.Span{Original: text[at : at+a.Size], Spoken: a.Syllable, Kind: a.Kind, Language: spelled}, ok
}

// addressAt returns the span of an address or a path at a position. It is spoken in English.
func addressAt(text string, at int) (frontend.Span, bool) {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	if isBorder(rune(text[at])) || at > 0 && !isBorder(before) {
		return frontend.Span{}, false
	}
	size := strings.IndexFunc(text[at:], isBorder)
	if size < 0 {
		size = len(text) - at
	}
	if !strings.ContainsAny(text[at:at+size], ".@/") {
		return frontend.Span{}, false
	}
	s := frontend.Spans(text[at:at+size], "en-us")[0]
	return s, s.Kind == frontend.Email || s.Kind == frontend.URL || s.Kind == frontend.Path
}

// isBorder reports whether a character cannot be part of an address.
func isBorder(r rune) bool { return r <= ' ' || r >= utf8.RuneSelf }

// appendSpelled appends a span for each letter of a Chinese text, with its syllable.
func appendSpelled(out []frontend.Span, text string, syllables []string) []frontend.Span {
	letters := []rune(text)
	for i, syllable := range syllables {
		s := plain(string(letters[i]), spelled)
		if syllable != "" {
			s.Kind, s.Spoken = frontend.Syllable, " "+syllable
		}
		out = append(out, s)
	}
	return out
}

// phrasesByLanguage cuts phrases where the language of the spans changes. If there would be too many, the whole text is
// spoken in the job's language.
func phrasesByLanguage(phrases []Phrase, spans []frontend.Span, language string) []Phrase {
	runs := languageRuns(spans, language)
	if len(runs) == 0 || len(runs) == 1 && runs[0].Language == "" {
		return phrases
	}
	if len(phrases) == 0 {
		total := 0
		for _, r := range runs {
			total += r.Runes
		}
		phrases = []Phrase{OwnPhrase(total)}
	}
	var out []Phrase
	for _, p := range phrases {
		for left := p.Runes; left > 0; {
			piece := p
			piece.Runes, piece.Language = left, runs[0].Language
			if len(runs) > 1 && runs[0].Runes <= left {
				piece.Runes = runs[0].Runes
				runs = runs[1:]
			} else {
				runs[0].Runes -= left
			}
			if left -= piece.Runes; left > 0 {
				piece.Pause = 0
			}
			out = append(out, piece)
		}
	}
	if len(out) <= maxPhrases {
		return out
	}
	whole := slices.Clone(phrases)
	for i := range whole {
		if language == mandarin {
			whole[i].Language = spelled
		}
	}
	return whole
}

// languageRuns returns the runs of the spoken text in one language each, "" for the job's own. Spans without letters or
// digits belong to the run before them.
func languageRuns(spans []frontend.Span, language string) (runs []Phrase) {
	for _, s := range spans {
		of := s.Language
		switch of {
		case mandarin:
			of = spelled
		case language:
			of = ""
		}
		n := utf8.RuneCountInString(s.Spoken)
		if last := len(runs) - 1; last >= 0 && (runs[last].Language == of || !isSpeakable(s.Spoken)) {
			runs[last].Runes += n
			continue
		}
		runs = append(runs, Phrase{Runes: n, Language: of})
	}
	return runs
}
