package japanese_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/japanese"
)

// letters is an analyser that knows no words: each letter and each number is a morpheme.
func letters(text string) []japanese.Morpheme {
	var all []japanese.Morpheme
	for _, c := range text {
		m := japanese.Morpheme{Surface: string(c)}
		if strings.ContainsRune("〇一二三四五六七八九十百千万億兆京", c) {
			m.Class = japanese.Numeral
		}
		if last := len(all) - 1; c >= '0' && c <= '9' {
			if m.Class = japanese.Numeral; last >= 0 && strings.Trim(all[last].Surface, "0123456789") == "" {
				all[last].Surface += string(c)
				continue
			}
		}
		all = append(all, m)
	}
	return all
}

func read(text string) (original, spoken string) {
	for _, r := range japanese.Read(text, letters) {
		original += r.Original
		spoken += r.Spoken
	}
	return original, spoken
}

// testdata of the subpackage ipadic has more, with the words between the numbers.
func TestNumbersAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"0": "ゼロ", "4": "ヨン", "10": "ジュー", "110": "ヒャクジュー", "1000": "セン", "8888": "ハッセンハッピャクハチジューハチ",
		"10000": "イチマン", "10000000": "イッセンマン", "1000000000000": "イッチョー",
		"10000000000000000": "イチ" + strings.Repeat("ゼロ", 16),
		"8000000000000000":  "ハッセンチョー", "3000億": "サンゼンオク", "三千五百": "サンゼンゴヒャク", "二〇二四": "ニセンニジューヨン",
		"〇一": "ゼロイチ", "007": "ゼロゼロナナ", "1,234,567": "ヒャクニジューサンマンヨンセンゴヒャクロクジューナナ",
		"12345万": "イチオクニセンサンビャクヨンジューゴマン", "0.05": "レイテンゼロゴ", "10.10.1": "ジュッテンイチゼロテンイチ",
	} {
		_, spoken := read(text)
		require.Equal(t, " "+want, spoken, text)
	}
}

// A number sounds the same in digits and in Chinese numerals.
func TestBothScriptsSoundTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		value := random.Int64N(int64(1) << random.IntN(53))
		if value == 0 {
			continue
		}
		_, inDigits := read(strconv.FormatInt(value, 10) + "円")
		_, inKanji := read(kanji(value) + "円")
		require.Equal(t, inDigits, inKanji, kanji(value))
	}
}

func kanji(value int64) string {
	var out strings.Builder
	for _, m := range []struct {
		sign  string
		value int64
	}{{"兆", 1e12}, {"億", 1e8}, {"万", 1e4}, {"", 1}} {
		group := value / m.value
		value %= m.value
		if group == 0 {
			continue
		}
		for i, unit := range []string{"千", "百", "十", ""} {
			digit := group / []int64{1000, 100, 10, 1}[i] % 10
			if digit > 1 || digit == 1 && i == 3 {
				out.WriteString(strings.Split("〇一二三四五六七八九", "")[digit])
			}
			if digit > 0 {
				out.WriteString(unit)
			}
		}
		out.WriteString(m.sign)
	}
	return out.String()
}

func TestWhatCannotBeAnalysedIsLeftAsItIs(t *testing.T) {
	require.Empty(t, japanese.Read("", letters))
	for _, text := range []string{"東京", "\xff京"} {
		readings := japanese.Read(text, func(string) []japanese.Morpheme { return nil })
		require.Equal(t, []japanese.Reading{{Original: text, Spoken: text}}, readings)
	}
}

// anything is an analyser that returns morphemes of all classes.
func anything(text string) []japanese.Morpheme {
	all := letters(text)
	for i, m := range all {
		c, _ := utf8.DecodeRuneInString(m.Surface)
		if m.Class == japanese.Word {
			all[i].Class = japanese.Class(c % 8)
			all[i].Pronunciation = []string{"", "ウ", "コ", "ッ", "ー"}[c%5]
		}
	}
	return all
}

// For any text and analysis, the originals are the text, and the spoken form is speakable.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"3月1日（月）", "1,234.5.6万円", "090-1234-5678", "10:00:05", "2026/11/25", "1/2", "3〜5人",
		"-5度", "¥500", "二三日", "一億〇千百十万", "９分の１目間分", "00-0-", "1:00目", "千万億兆京", "1/1（日）"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		original, spoken := read(text)
		require.Equal(t, text, original)
		require.Equal(t, utf8.ValidString(text), utf8.ValidString(spoken))
		require.LessOrEqual(t, len(spoken), 40*len(text))
		original = ""
		for _, r := range japanese.Read(text, anything) {
			original += r.Original
		}
		require.Equal(t, text, original)
	})
}
