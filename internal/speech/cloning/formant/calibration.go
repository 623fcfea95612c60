package formant

import (
	_ "embed"
	"strings"

	"github.com/recital-tts/recital/internal/speech"
)

// reading is a text that a candidate speaks.
type reading struct{ language, text string }

// calibration is the set of texts that candidates speak while a voice is fitted. It is in the speaker's language if
// that is known, because pitch, pace, vowels and spectrum of a voice depend on the language. Otherwise it covers
// several languages. It does not contain the sentences that clones are judged by.
type calibration struct {
	brief []reading // suffices to choose a variant
	whole []reading
	own   bool // it is in the language of the speaker
}

const (
	briefly   = 2 // sentences of a language
	brieflyIn = 3 // languages
	unknownIn = 5 // languages for a speaker of an unknown language
)

// calibrationFor returns the calibration for a speaker with an accent, given by the client as a code of a language,
// with or without region, or as a text that contains its English name.
func calibrationFor(accent string) calibration {
	if language, texts := languageOf(accent); texts != nil {
		return calibration{
			brief: []reading{{language, strings.Join(texts[:briefly], " ")}},
			whole: []reading{{language, strings.Join(texts, " ")}},
			own:   true,
		}
	}
	var all calibration
	for i, s := range scripts()[:unknownIn] {
		all.whole = append(all.whole, reading{s.language, s.texts[i%len(s.texts)]})
	}
	all.brief = all.whole[:brieflyIn]
	return all
}

// languageOf returns the engine language of an accent with its sentences, or nil if there are none.
func languageOf(accent string) (language string, texts []string) {
	accent = strings.ToLower(strings.TrimSpace(accent))
	language, known := speech.LookupLanguage(accent)
	for _, s := range scripts() {
		switch {
		case known && base(language) == base(s.language):
			return language, s.texts
		case !known && strings.Contains(accent, s.name):
			return s.language, s.texts
		}
	}
	return "", nil
}

// Sentences returns the sentences for measuring voices in a language, or nil if there are none.
func Sentences(language string) []string {
	_, texts := languageOf(language)
	return texts
}

// base returns a language without its region.
func base(language string) string {
	base, _, _ := strings.Cut(language, "-")
	return base
}

// script is the text that candidates speak in a language.
type script struct {
	language string // the engine's code
	name     string // in English, in lower case
	texts    []string
}

// scriptTable has a line for each script: language, name, and the same seven sentences in each.
//
//go:embed calibration.tsv
var scriptTable string

// scripts returns the scripts in the order of the table.
func scripts() (all []script) {
	for line := range strings.Lines(scriptTable) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		all = append(all, script{language: fields[0], name: fields[1], texts: fields[2:]})
	}
	return all
}
