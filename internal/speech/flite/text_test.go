package flite

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
)

func TestToASCII(t *testing.T) {
	for given, then := range map[string]string{
		"Plain, 1 + 1.":   "Plain, 1 + 1.",
		"“Naïve” café’s":  "\"Naive\" cafe's",
		"Øre – Łódź…":     "ore - lodz.",
		"٣ ３ 你 😀\x00\x7f": "3 3      ",
		"ﬁ ½":             "f 1",
		"a\tb\nc":         "a b\nc",
	} {
		require.Equal(t, then, string(toASCII([]rune(given))), given)
	}
}

func TestEveryCodePointIsAByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		out := toASCII([]rune(text))
		require.Len(t, out, utf8.RuneCountInString(text))
		for _, b := range out {
			require.True(t, b == '\n' || b >= ' ' && b < 0x7f, "%q", b)
		}
		harmless(out)
		for word := range strings.FieldsSeq(string(out)) {
			require.LessOrEqual(t, len(strings.TrimFunc(word, unicode.IsPunct)), 200)
		}
	})
}

func TestHarmless(t *testing.T) {
	text := []byte("Well-known: a_b@c (1,234.50)! " + strings.Repeat("x", 50))
	harmless(text)
	require.Equal(t, "Well known  a b c  1,234.50 ! "+strings.Repeat("x", 40)+" "+strings.Repeat("x", 9), string(text))
}

func TestEveryVoiceIsMade(t *testing.T) {
	seen := map[voice]string{}
	for _, v := range speech.Voices() {
		made, ok := voiceOf(v.Variant)
		require.True(t, ok, v.ID)
		require.Empty(t, seen[made], v.ID)
		require.Equal(t, v.Gender == "F", made.base == slt, v.ID)
		seen[made] = v.ID
	}
}

func FuzzPrepare(f *testing.F) {
	f.Add([]byte(`{"text":"hi","variant":"f2","language":"en-us","speed":1}`))
	f.Add([]byte(`{"text":"hi","variant":"f2","language":"de","speed":1,"phrases":[{"runes":2,"range":2,"rate":1,"pause":-1}]}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		job, err := engineproto.ParseJob(workers.Frame{Kind: engineproto.KindJob, Payload: payload})
		if err != nil {
			return
		}
		prepared, err := prepare(job)
		if err != nil {
			return
		}
		require.Equal(t, language, prepared.Language)
		require.NoError(t, prepared.Check())
		require.Positive(t, prepared.voice.stretch)
	})
}
