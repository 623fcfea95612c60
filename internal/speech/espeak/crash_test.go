package espeak

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/enginetest"
)

// Texts that crash espeak-ng 1.51, most of them found by TestSoakTexts.
func crashers() map[string][]string {
	return map[string][]string{
		"hi":      {"---लच्छेद"}, // espeak-ng issue 831
		"kok":     {"\u0947, \ua8ea-\u0911\u097e\u0945"},
		"quc":     {"\u0c8f\u0cb7? \u0cf1"},
		"ro":      {"\u171d-\u09c0\u0999"},
		"az":      {strings.Repeat("g.e.", 50) + "\u2764"},
		"fa-latn": {strings.Repeat("e.g.", 54) + "\ub55a" + strings.Repeat("\u2de0", 7)},
		"gd": {"\u2122; \u1ff4\u038a\u1f59\u0394? \u1fda\u2ecf\ufa14\u2fa1. a1\u1f2a\u038e, " +
			"\u1fd1\u1fd8\u1f93\u1d27\u0376\u1f52\uab65\u1f70\u1dbf, " +
			"\u1f5b\u1ffa\u1f5b\u03c6\u0388\u037f\u2026 \u1f55\u1ffd; "},
		"ky": {
			"\U000192e0/NATO\u00a0\u1dbf\u1fe4\u1fdb\u1f5b\u1ffa\u1d5f\u1fe6\u1fd3\u00a0",
			"\u1d2b\u04fb\u2dfa\u050f\u2dff\ua643\ufe2e\u047a\u2019\u1c87\ufe2f\u04bc. \u2df1\u0498\ua678\u1d2b\ua666! " +
				"\u0454\u0487. 12 \u2dff\u049c\u04ef\u1d78! " +
				"\u2de6\u1d78\u051a\u2dec\u04fb\ufe2e\u1d2b\ufe2f\ufe2e " +
				"\ufe2e\ufe2e\u2dec\u1c82\u2019\u1d78\ua647\ufe2f\u0420\u1d2b",
		},
		"hy": {"\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466\u200dWorld\n" +
			strings.Repeat("\u138d\u1394\u1250", 60) + "\u2026 "},
	}
}

// The words before and after a text that kills espeak-ng are spoken, and no process dies of it. On some of these texts
// espeak-ng reads uninitialised memory, so the omitted part differs between processes. The test then tries another
// process.
func TestWhatEspeakDiesOfIsKeptFromIt(t *testing.T) {
	const processes = 10
	for language, texts := range crashers() {
		for _, crasher := range texts {
			for n := 1; ; n++ {
				lost := lostAround(t, language, crasher)
				if lost == "" {
					break
				}
				require.Less(t, n, processes, "%s of %s %+q is not said", lost, language, crasher)
			}
		}
	}
}

// lostAround returns the side of a text that a new process does not speak, or "" if it speaks both.
func lostAround(t *testing.T, language, crasher string) string {
	t.Helper()
	const before, after = "1 2 3. ", " 4 5 6."
	pool := openPool(t, 1)
	job := enginetest.Job(before + crasher + after)
	job.Language = language
	s, err := enginetest.Speak(t.Context(), pool, job)
	require.NoError(t, err, "%s %+q", language, crasher)
	require.Zero(t, pool.Stats().Failed)
	require.Zero(t, pool.Stats().Respawns)
	said := func(index int) bool {
		return slices.ContainsFunc(s.Marks, func(m speech.Mark) bool { return !m.Silence && m.Rune == index })
	}
	switch {
	case !said(0):
		return "what is before"
	case !said(utf8.RuneCountInString(job.Text) - 2):
		return "what is behind"
	}
	return ""
}

func TestCareDoesNotChangeWhatIsSaid(t *testing.T) {
	pool := openPool(t, 1)
	job := enginetest.Job(enginetest.Sentence)
	want, err := enginetest.Speak(t.Context(), pool, job)
	require.NoError(t, err)
	job.Careful = true
	got, err := enginetest.Speak(t.Context(), pool, job)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestRisk(t *testing.T) {
	for _, test := range []struct {
		name, language, text string
		risky                bool
	}{
		{"English", "en-us", "It’s “so” — isn't it? Yes: 1,234.50 (naïve)…\nNew.", false},
		{"German", "de", "Grüße, Straße; z.B. Öl!", false},
		{"Russian", "ru", "Привет, мир!", false},
		{"Chinese", "cmn", "今天天气很好。", false},
		{"Vietnamese", "vi", "Tiếng Việt", false},
		{"Hindi always", "hi", "नमस्ते", true},
		{"another script", "de", "Das ist ईघ", true},
		{"Latin in Russian", "ru", "Это NATO", true},
		{"an emoji", "en-us", "Hello 😀", true},
		{"a combining mark", "en-us", "e\u0301", true},
		{"a long word", "en-us", strings.Repeat("a", 41), true},
		{"repeated marks", "en-us", "Well----", true},
		{"spaces", "en-us", "a     b", false},
		{"a control character", "en-us", "a\x01b", true},
	} {
		require.Equal(t, test.risky, isRisky(test.language, test.text), test.name)
	}
}

func TestCutNearMiddle(t *testing.T) {
	for text, at := range map[string]int{
		"": 0, "a": 0, "ab": 0, "one two": 4, "one two three four": 8, "abc中文": 3, "short": 0, strings.Repeat("x", 40): 20,
		"नमस्ते": 0,
	} {
		require.Equal(t, at, cutNearMiddle([]rune(text)), text)
	}
}

func TestCutPartsKeepTheirPlaces(t *testing.T) {
	text, breaks := cleanText([]rune(strings.Repeat("x", 130) + " yes"))
	whole := part{start: 10, text: text, breaks: breaks, endPause: true, silence: 5}
	first, second := whole.cut([]rune(text), 70)
	require.Equal(t, whole.text, first.text+second.text)
	require.Equal(t, []uint32{60}, first.breaks)
	require.Equal(t, []uint32{51}, second.breaks)
	require.Equal(t, 10+69, second.start, "70 characters, one of them added")
	require.False(t, first.endPause)
	require.True(t, second.endPause)
	require.Zero(t, first.silence)
}
