package kokoro

import "strings"

// The replacers translate espeak-ng's International Phonetic Alphabet into the alphabet that Kokoro was trained with,
// in which diphthongs and affricates are one symbol. Longer spellings come first.
var (
	american = strings.NewReplacer(
		"aɪ", "I", "aʊ", "W", "eɪ", "A", "oʊ", "O", "əʊ", "O", "ɔɪ", "Y", "dʒ", "ʤ", "tʃ", "ʧ",
		"ɜːɹ", "ɜɹ", "ɜː", "ɜɹ", "ɚ", "əɹ", "ɪə", "iə", "əl", "ᵊl", "n̩", "ᵊn", "l̩", "ᵊl",
		"e", "A", "o", "ɔ", "ɐ", "ə", "ɾ", "T", "ʔ", "t", "r", "ɹ", "x", "k", "ç", "k", "ɬ", "l",
		"ː", "", "ʲ", "", "\u0303", "", "\u0361", "", "-", "",
	)
	british = strings.NewReplacer(
		"aɪ", "I", "aʊ", "W", "eɪ", "A", "əʊ", "Q", "oʊ", "Q", "ɔɪ", "Y", "dʒ", "ʤ", "tʃ", "ʧ",
		"eə", "ɛː", "iə", "ɪə", "ɚ", "ə", "əl", "ᵊl", "n̩", "ᵊn", "l̩", "ᵊl",
		"e", "A", "o", "ɔ", "ɐ", "ə", "ɾ", "T", "ʔ", "t", "r", "ɹ", "x", "k", "ç", "k", "ɬ", "l",
		"ʲ", "", "\u0303", "", "\u0361", "", "-", "",
	)
	// others is for all other languages, which Kokoro learnt with espeak-ng's own symbols.
	others = strings.NewReplacer(
		"aɪ", "I", "aʊ", "W", "eɪ", "A", "oʊ", "O", "əʊ", "Q", "ɔɪ", "Y", "dʒ", "ʤ", "tʃ", "ʧ", "dz", "ʣ", "ts", "ʦ",
		"\u0361", "", "-", "",
	)
)

// Respell translates a word in an engine language from the International Phonetic Alphabet into Kokoro's alphabet.
func Respell(language, ipa string) string {
	switch {
	case language == "en-us":
		return american.Replace(ipa)
	case language == "en" || strings.HasPrefix(language, "en-"):
		return british.Replace(ipa)
	}
	return others.Replace(ipa)
}
