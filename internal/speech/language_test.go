package speech_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/langid"
)

func TestLookupLanguage(t *testing.T) {
	known := map[string]string{
		"en": "en-us", "en-US": "en-us", "en_GB": "en-gb", "en-AU": "en-gb", "en-ZZ": "en-us", "de": "de", "de-AT": "de",
		"fr": "fr-fr", "fr-CA": "fr-fr", "pt": "pt", "pt-BR": "pt-br", "es-MX": "es-419", "zh": "cmn", "zh-Hant-TW": "cmn",
		"cmn": "cmn", "yue": "yue", "ja": "ja", "ko": "ko", "no": "nb", "iw": "he", "hi": "hi", "id": "id", "it": "it",
		"nl": "nl", "pl": "pl", "ru": "ru", "sv": "sv", "th": "th", "tr": "tr", "uk": "uk", "ur": "ur", "vi": "vi",
		"ar": "ar", "AUTO": "auto", " en ": "en-us",
	}
	for given, then := range known {
		engine, ok := speech.LookupLanguage(given)
		require.True(t, ok, given)
		require.Equal(t, then, engine, given)
	}
	for _, given := range []string{
		"", "xx", "-", "-en", "english", "../en", "en/us+f2", strings.Repeat("en-", 1000), "\x00",
	} {
		_, ok := speech.LookupLanguage(given)
		require.False(t, ok, given)
	}
	for _, engine := range speech.EngineLanguages() {
		got, ok := speech.LookupLanguage(engine)
		require.True(t, ok)
		require.Equal(t, engine, got)
	}
}

func TestALanguageThatIsNotSpokenHasAStandInOrANearestOne(t *testing.T) {
	engine, ok := speech.LookupLanguage("gl_ES")
	require.True(t, ok)
	require.Equal(t, "es", engine)
	require.Equal(t, "language: Galician is spoken as Spanish", speech.StandIn("gl-ES"))
	require.Empty(t, speech.StandIn("es"))
	require.Empty(t, speech.StandIn(""))
	for _, code := range []string{"fil", "TL", "fil-PH", "km", "lo", "so", "zu", "yo_NG"} {
		_, ok := speech.LookupLanguage(code)
		require.False(t, ok, code)
		require.True(t, speech.IsEngineLanguage(speech.NearestLanguage(code)), code)
	}
	require.Empty(t, speech.NearestLanguage("xx"))
}

func TestEveryLanguageThatIsDetectedIsSpoken(t *testing.T) {
	for _, code := range langid.Codes() {
		engine, ok := speech.LookupLanguage(code)
		require.True(t, ok && speech.IsEngineLanguage(engine), code)
	}
}

func TestDetectLanguage(t *testing.T) {
	tests := map[string]string{
		"":                                "en-us",
		"123 !?":                          "en-us",
		"Hello world":                     "en-us",
		"Привет, мир":                     "ru",
		"你好，世界":                           "cmn",
		"東京は日本の首都です":                      "ja",
		"カタカナ":                            "ja",
		"안녕하세요":                           "ko",
		"مرحبا بالعالم":                   "ar",
		"नमस्ते दुनिया":                   "hi",
		"Γειά σου Κόσμε":                  "el",
		"שלום עולם":                       "he",
		"สวัสดีชาวโลก":                    "th",
		"The word мир means peace in it.": "en-us",
		"Скачайте Photoshop или Windows 11": "ru",
		"Das Wetter wird morgen kalt.":      "de",
		"Il fera froid demain":              "fr-fr",
		"Det blir kaldt i morgen, sier de":  "nb",
		"Muito obrigado":                    "pt",
		"Добрий ранок, як справи? Я живу в Києві.": "uk",
		"Добрай раніцы, я жыву ў Мінску":           "be",
		"Добро јутро, живим у Београду":            "sr",
		"Добро утро, ќе одам во Скопје":            "mk",
		"Қайырлы таң, мен Алматыда тұрамын":        "kk",
		"صبح بخیر، حال شما چطور است؟":              "fa",
		"صبح بخیر، آپ کیسے ہیں؟":                   "ur",
		"Bom dia":              "pt",
		"Xin chào":             "vi",
		"Tusen takk":           "nb",
		"Добър ден, как сте?":  "bg",
		"Магазинът е затворен": "bg",
		"Къде е гарата?":       "bg",
		"Дуже дякую":           "uk",
		strings.Repeat("а, ", 600) + strings.Repeat("Магазинът е затворен. ", 5): "bg", // after 2,000 bytes, in 2,000 letters
		"Петро Їжак вчера вечером приехал в Москву и остановился у друзей":       "ru", // of a name
		"Das Meeting ist um 5 Uhr in 東京":                            "de",
		strings.Repeat("word ", 400) + strings.Repeat("я", 100_000): "en-us", // bounded
	}
	for text, then := range tests {
		require.Equal(t, then, speech.DetectLanguage(text), "%.40s", text)
		require.True(t, speech.IsEngineLanguage(then))
	}
}

func TestVoices(t *testing.T) {
	variants := map[string]bool{}
	var ids []string
	for _, voice := range speech.Voices() {
		ids = append(ids, voice.ID)
		require.Contains(t, []string{"F", "M", "U"}, voice.Gender)
		require.NotEmpty(t, voice.Name)
		require.NotEmpty(t, voice.Description)
		require.NotContains(t, voice.Description, "\n")
		require.False(t, variants[voice.Variant], "%s has the variant of another voice", voice.ID)
		variants[voice.Variant] = true
		found, ok := speech.LookupVoice(voice.ID)
		require.True(t, ok)
		require.Equal(t, voice, found)
	}
	require.ElementsMatch(t, []string{"leah", "ava", "lily", "zeke", "morgan", "elowen", "curtis", "amy", "ansel"}, ids)
	_, ok := speech.LookupVoice("Leah+f2")
	require.False(t, ok)
}
