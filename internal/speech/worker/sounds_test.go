package worker_test

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
)

// heardOf returns the engine's phonemes, except pauses.
func heardOf(t *testing.T, engine speech.Engine, job speech.Job) (string, []speech.Mark) {
	t.Helper()
	job.Voice, job.Speed, job.Phonemes = speech.Voices()[0], 1, true
	said, err := enginetest.Speak(t.Context(), engine, job)
	require.NoError(t, err)
	var heard []string
	var words []speech.Mark
	for _, m := range said.Marks {
		switch {
		case strings.Trim(m.Phoneme, "_:|") != "":
			heard = append(heard, m.Phoneme)
		case m.Phoneme == "" && !m.Silence:
			words = append(words, m)
		}
	}
	return strings.Join(heard, " "), words
}

func TestPhonemesAreHeardAsTheyAreWritten(t *testing.T) {
	engine := openPool(t, 2)
	for _, test := range []struct{ language, text, sound, heard string }{
		{"en-us", "The təˈmɑːkoʊ is.", "təˈmɑːkoʊ", "D @2 t @ m A: k oU I z"},
		{"de", "Die ˈpfeːçt da.", "ˈpfeːçt", "d i: pF e: C t d A:"},
		{"fr-fr", "Le bɔ̃ʁœ̃.", "bɔ̃ʁœ̃", "l @- b O~ r W~"},
		{"ja", "ア ɕːa カ", "ɕːa", `a s\ s\ a k a`},
		{"cmn-latn-pinyin", "ma1 tɕɑŋ˥˩ ma1", "tɕɑŋ˥˩", "m A tS; A N m A"},
	} {
		at := strings.Index(test.text, test.sound)
		sound := speech.Sound{Start: utf8.RuneCountInString(test.text[:at]), Runes: utf8.RuneCountInString(test.sound)}
		heard, words := heardOf(t, engine, speech.Job{Text: test.text, Language: test.language,
			Sounds: []speech.Sound{sound}})
		require.Equal(t, test.heard, heard)
		require.Equal(t, sound.Start, words[1].Rune)
	}
}

// A client cannot use the brackets that mark phonemes.
func TestBracketsOfATextAreNoPhonemes(t *testing.T) {
	engine := openPool(t, 1)
	text := "[[t'A:]] ˈkæt"
	heard, _ := heardOf(t, engine, speech.Job{Text: text, Language: "en-us", Sounds: []speech.Sound{{Start: 9, Runes: 4}}})
	require.NotContains(t, heard, "t A: k")
	require.Contains(t, heard, "k a t")
	plain, _ := heardOf(t, engine, speech.Job{Text: "[[t'A:]] cat", Language: "en-us"})
	require.Equal(t, plain, heard)
}

// Each symbol of the tables is a phoneme in each language and variant.
func TestEachSymbolIsHeard(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some hundred jobs")
	}
	table, err := os.ReadFile("../ipa/phonemes.tsv")
	require.NoError(t, err)
	engine := openPool(t, 2)
	heard := func(language, word string) string {
		heard, _ := heardOf(t, engine, speech.Job{Text: word, Language: language,
			Sounds: []speech.Sound{{Runes: utf8.RuneCountInString(word)}}})
		return heard
	}
	for _, language := range speech.EngineLanguages() {
		primary, _, _ := strings.Cut(language, "-")
		without := heard(language, "tattat")
		for row := range strings.Lines(string(table)) {
			cells := strings.Split(strings.TrimSuffix(row, "\n"), "\t")
			// marks of length and softness have no name, and a dialect of England drops its h
			isTone := strings.Trim(cells[1], "˥˦˧˨˩⁵⁴³²¹") == ""
			if cells[0] != primary || strings.Contains("ːʲ", cells[1]) || isTone ||
				cells[1] == "h" && language == "en-gb-x-gbcwmd" {
				continue
			}
			with := heard(language, "tat"+cells[1]+"tat")
			if with == without || len(strings.Fields(with)) < 6 {
				t.Errorf("%s: %s (%s) is heard as %q", language, cells[1], cells[2], with)
			}
		}
	}
}

// In the second engine, a word in phonemes sounds like the word with these phonemes in its dictionary.
func TestPhonemesAreHeardInTheSecondEngine(t *testing.T) {
	engine := openConfig(t, worker.Config{Command: workertest.Flite(binary), Size: 1})
	say := func(text string, sounds ...speech.Sound) string {
		job := enginetest.Job(text)
		job.Sounds = sounds
		said, err := enginetest.Speak(t.Context(), engine, job)
		require.NoError(t, err)
		return string(said.PCM)
	}
	plain := say("Say whale now.")
	require.Equal(t, plain, say("Say weɪl now.", speech.Sound{Start: 4, Runes: 4}))
	require.NotEqual(t, plain, say("Say wiːl now.", speech.Sound{Start: 4, Runes: 4}))
}
