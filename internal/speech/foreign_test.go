package speech

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/frontend"
)

func TestRunsOfAnotherScriptAreInTheirLanguage(t *testing.T) {
	for _, test := range []struct{ language, text, want string }{
		{"de", "Das Meeting ist um 5 Uhr in 東京.", "de:Das Meeting ist um 5 Uhr in |cmn-latn-pinyin: dong1 jing1|de:."},
		{"de", "Er sagte こんにちは 東京 und ging.", "de:Er sagte |ja:こんにちは 東京|de: und ging."},
		{"en-us", "The word привет means hello.", "en-us:The word |ru:привет|en-us: means hello."},
		{"en-us", "An angle of α and 5 Ω", "en-us:An angle of α and 5 Ω"},
		{"en-us", "plain", "en-us:plain"},
		{"ru", "Скачайте 東京", "ru:Скачайте 東京"},
		{"cmn", "我用ChatGPT，好。", "cmn-latn-pinyin: wo3 yong4|en-us:ChatGPT|cmn:，|cmn-latn-pinyin: hao3|cmn:。"},
		{"cmn", "邮箱是a@b.com。", "cmn-latn-pinyin: you2 xiang1 shi4|en-us:a at b dot com|cmn:。"},
		{"ja", "メールはa@b.comです", "ja:メールは|en-us:a at b dot com|ja:です"},
		{"cmn", "1987年有12个", "cmn-latn-pinyin: yi1 jiu3 ba1 qi1 nian2 you3 shi2 er4 ge4"},
	} {
		spans := inTheirLanguages([]frontend.Span{plain(test.text, test.language)}, test.language)
		var shown []string
		written, last := "", ""
		for _, s := range spans {
			written += s.Original
			if s.Language == last {
				shown[len(shown)-1] += s.Spoken
				continue
			}
			shown, last = append(shown, s.Language+":"+s.Spoken), s.Language
		}
		require.Equal(t, test.want, strings.Join(shown, "|"))
		require.Equal(t, test.text, written)
	}
}

func TestPhrasesAreCutWhereTheLanguageChanges(t *testing.T) {
	spans := inTheirLanguages([]frontend.Span{plain("我用ChatGPT，好。", "cmn")}, "cmn")
	own := []Phrase{OwnPhrase(utf8.RuneCountInString(frontend.Spoken(spans)))}
	for _, phrases := range [][]Phrase{nil, own} {
		got := phrasesByLanguage(phrases, spans, "cmn")
		require.Len(t, got, 3)
		require.Equal(t, []string{spelled, "en-us", spelled}, []string{got[0].Language, got[1].Language, got[2].Language})
		require.Equal(t, own[0].Runes, got[0].Runes+got[1].Runes+got[2].Runes)
		require.Zero(t, got[0].Pause, "no pause within a phrase")
		require.EqualValues(t, OwnPause, got[2].Pause)
	}
	many := inTheirLanguages([]frontend.Span{plain(strings.Repeat("我a", 60), "cmn")}, "cmn")
	whole := phrasesByLanguage(nil, many, "cmn")
	require.Len(t, whole, 1, "there are too many runs")
	require.Equal(t, spelled, whole[0].Language)
	require.Nil(t, phrasesByLanguage(nil, []frontend.Span{plain("plain", "en-us")}, "en-us"))
}

func FuzzRuns(f *testing.F) {
	f.Add("Das ist in 東京 (トーキョー), 5 α привет мир", "de")
	f.Add("我用ChatGPT", mandarin)
	f.Fuzz(func(t *testing.T, text, language string) {
		spans := inTheirLanguages([]frontend.Span{plain(text, language)}, language)
		written := ""
		for _, s := range spans {
			written += s.Original
		}
		require.Equal(t, text, written)
		runes := 0
		for _, p := range phrasesByLanguage(nil, spans, language) {
			runes += p.Runes
		}
		if runes > 0 {
			require.Equal(t, utf8.RuneCountInString(frontend.Spoken(spans)), runes)
		}
	})
}
