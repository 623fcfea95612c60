package speech_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech"
)

func lexicon(t require.TestingT, list ...speech.Pronunciation) *speech.Lexicon {
	for i := range list {
		normal, err := list[i].Normal()
		require.NoError(t, err)
		list[i] = normal
	}
	return speech.NewLexicon(list)
}

func joined(timings []speech.Timing) string {
	var all strings.Builder
	for _, timing := range timings {
		all.WriteString(timing.Text)
	}
	return all.String()
}

func TestALexiconSaysWholeWords(t *testing.T) {
	l := lexicon(t,
		speech.Pronunciation{Word: "Nguyen", Spoken: "win"},
		speech.Pronunciation{Word: "NATO", Spoken: "nay toe"}, speech.Pronunciation{Word: "Nato", Spoken: "the lady"},
		speech.Pronunciation{Word: "New", Spoken: "gnu"}, speech.Pronunciation{Word: "new  York", Spoken: "the city"},
		speech.Pronunciation{Word: "gift", Spoken: "poison", Language: "de"}, speech.Pronunciation{Word: "C3", Spoken: "$5"},
		speech.Pronunciation{Word: "colour", Spoken: "british", Language: "en-GB"},
		speech.Pronunciation{Word: "Nguyễn", Spoken: "the name"},
		speech.Pronunciation{Word: "Москва", Spoken: "столица", Language: "ru"},
		speech.Pronunciation{Word: "长大", Spoken: "你好", Language: "zh"},
	)
	for text, want := range map[string]string{
		"Mr. Nguyen's dog":                 "Mister win's dog",
		"NGUYEN, nguyen":                   "win, win",
		"Nguyens or ngu":                   "Nguyens or ngu",
		"NATO, Nato, nato":                 "nay toe, the lady, nay toe",
		"New York, New Yorkers":            "the city, gnu Yorkers",
		"a gift of colour":                 "a gift of colour",
		"C3 is $5":                         "five dollars is five dollars",
		"Say Москва twice.":                "Say столица twice.",
		"Nguye\u0302\u0303n, Nguye\u0302n": "the name, Nguyên",
	} {
		r, engine := request(text), &reader{}
		r.Lexicon = l
		w := speak(t, engine, r)
		require.Equal(t, want, engine.jobs[0].Text, text)
		requireTimings(t, text, w.timings, float64(len(strings.Split(engine.jobs[0].Text, " ")))/10)
	}
	german, engine := request("Das Gift"), &reader{}
	german.Lexicon, german.Language = l, "de"
	speak(t, engine, german)
	require.Equal(t, "Das poison", engine.jobs[0].Text)
}

// An element of markup takes precedence over the lexicon, which applies to the rest.
func TestMarkupIsStrongerThanALexicon(t *testing.T) {
	document, err := speech.ParseMarkup(`<speak>Nguyen <sub alias="Noo yen">Nguyen</sub> Nguyen</speak>`, "en-us")
	require.NoError(t, err)
	r, engine := request(""), &reader{}
	r.Markup, r.Lexicon = document, lexicon(t, speech.Pronunciation{Word: "nguyen", Spoken: "a much longer name"})
	w := speak(t, engine, r)
	require.Equal(t, "a much longer name Noo yen a much longer name", engine.jobs[0].Text)
	require.Equal(t, "Nguyen Nguyen Nguyen", joined(w.timings))
	require.Equal(t, 20+2*12+1, w.characters)
}

func TestMarkupOfAnAccentAloneIsStrongerThanALexicon(t *testing.T) {
	say := func(list ...speech.Pronunciation) (string, int) {
		document, err := speech.ParseMarkup("<speak>e<sub alias=\"acute\">\u0301</sub> ok</speak>", "en-us")
		require.NoError(t, err)
		r, engine := request(""), &reader{}
		r.Markup, r.Lexicon = document, lexicon(t, list...)
		w := speak(t, engine, r)
		return engine.jobs[0].Text, w.characters
	}
	text, characters := say(speech.Pronunciation{Word: "z", Spoken: "zed"})
	again, billed := say(speech.Pronunciation{Word: "\u00e9", Spoken: "eh acute"})
	require.Equal(t, text, again)
	require.Equal(t, characters, billed)
}

// A client pays for the long pronunciations of short words, and no engine gets too much text in one job.
func TestWhatALexiconAddsIsBilled(t *testing.T) {
	l := lexicon(t, speech.Pronunciation{Word: "x", Spoken: strings.TrimSpace(strings.Repeat("much ", 40))})
	r, engine := request(strings.TrimSpace(strings.Repeat("x ", 500))), &reader{}
	r.Lexicon = l
	w := speak(t, engine, r)
	said := 0
	for _, job := range engine.jobs {
		require.Less(t, len(job.Text), 4<<10)
		said += utf8.RuneCountInString(job.Text)
	}
	require.Equal(t, 500*199+499, said)
	require.Equal(t, said, w.characters)
	require.Equal(t, r.Text, joined(w.timings))
}

func TestAWrongPronunciationIsNamed(t *testing.T) {
	for field, p := range map[string]speech.Pronunciation{
		"ipa: column 3: q is not a sound of the language":        {Word: "a", IPA: "e q", Language: "en"},
		"ipa: a word has a respelling or phonemes, and not both": {Word: "a", IPA: "e", Spoken: "b", Language: "en"},
		"language: phonemes need one of the languages that have them: cmn, de, en, es, fr, it, ja, nl, " +
			"pl, pt, ru": {Word: "a", IPA: "e"},
		"word: it needs a letter or a digit":                {Word: " . ", Spoken: "dot"},
		"word: it is too long":                              {Word: strings.Repeat("a", 101), Spoken: "a"},
		"word: it has control characters":                   {Word: "a\x00b", Spoken: "a"},
		"spoken: it needs a letter or a digit":              {Word: "a"},
		"spoken: it is too long":                            {Word: "a", Spoken: strings.Repeat("b", 201)},
		"language: the engine does not speak this language": {Word: "a", Spoken: "b", Language: "tlh"},
	} {
		_, err := p.Normal()
		require.EqualError(t, err, field)
	}
	p, err := speech.Pronunciation{Word: " New  York ", Spoken: "e\u0301", Language: "PT_br"}.Normal()
	require.NoError(t, err)
	require.Equal(t, speech.Pronunciation{Word: "New York", Spoken: "é", Language: "pt-br"}, p)
}

// For any lexicon and text, the words are the text's, and the jobs are within the engines' limits.
func TestALexiconLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("aA b'.é长ß1İ\u0301")), 1, 6, -1)
		var list []speech.Pronunciation
		for range rapid.IntRange(1, 5).Draw(t, "entries") {
			p, err := speech.Pronunciation{Word: word.Draw(t, "word"), Spoken: word.Draw(t, "spoken")}.Normal()
			if err == nil {
				list = append(list, p)
			}
		}
		text := strings.Join(rapid.SliceOfN(word, 1, 40).Draw(t, "text"), " ") + "."
		segments := speech.NewLexicon(list).Pronounce(speech.Split(text), "en-us")
		var whole strings.Builder
		for _, s := range segments {
			require.Equal(t, whole.Len(), s.Start)
			require.GreaterOrEqual(t, s.Characters, utf8.RuneCountInString(s.Text))
			whole.WriteString(s.Text)
		}
		require.Equal(t, text, whole.String())
	})
}

// A list may have hundreds of entries for the same words in other languages, all of which every place of a text meets.
// Resolving their languages at each place took a minute for a text of 5,000 characters.
func TestEntriesForOtherLanguagesCostLittle(t *testing.T) {
	var list []speech.Pronunciation
	for _, language := range strings.Fields("af am ar as az be bg bn bs ca cs cy da el eo es et eu fa fi") {
		for words := 1; words <= 50; words++ {
			list = append(list, speech.Pronunciation{Word: strings.Repeat("a ", words), Spoken: "b", Language: language})
		}
	}
	l, segments := lexicon(t, list...), speech.Split(strings.Repeat("a ", 50))
	allocated := testing.AllocsPerRun(1, func() { require.Equal(t, segments, l.Pronounce(segments, "en-us")) })
	require.Less(t, allocated, 5*50*50.0, "a few for each place and length")
}
