package speech

import (
	"slices"
	"strings"
)

// AutoLanguage requests detection with DetectLanguage.
const AutoLanguage = "auto"

const maxLanguageCode = 35 // RFC 5646, 4.4.1: the length that every parser of language tags must accept

// LookupLanguage converts a language as clients write it (an ISO 639 code with or without region, such as "en",
// "pt-BR" or "zh_TW", or espeak-ng's own code) into an engine language, or AutoLanguage for "auto". A region that the
// engine does not support falls back to the language.
func LookupLanguage(code string) (engine string, ok bool) {
	if len(code) > maxLanguageCode {
		return "", false
	}
	code = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(code)), "_", "-")
	if code == AutoLanguage {
		return AutoLanguage, true
	}
	for code != "" {
		if engine, ok := languageAlias(code); ok {
			return engine, true
		}
		if IsEngineLanguage(code) {
			return code, true
		}
		code = code[:max(strings.LastIndexByte(code, '-'), 0)]
	}
	return "", false
}

// languageAlias resolves codes other than the engine's own.
func languageAlias(code string) (engine string, ok bool) {
	switch code {
	case "en":
		return "en-us", true
	case "en-uk", "en-au", "en-nz", "en-ie", "en-za", "en-in":
		return "en-gb", true
	case "en-sc":
		return "en-gb-scotland", true
	case "fr":
		return "fr-fr", true
	case "es-mx", "es-ar", "es-cl", "es-co", "es-pe", "es-us":
		return "es-419", true
	case "zh", "zh-cmn":
		return "cmn", true
	case "zh-yue", "zh-hk":
		return "yue", true
	case "no", "nn":
		return "nb", true
	case "iw": // the old codes of ISO 639
		return "he", true
	case "in":
		return "id", true
	case "hbs", "sh":
		return "hr", true
	case "vi-vn":
		return "vi", true
	case "hy-arevela":
		return "hy", true
	case "hy-arevmda":
		return "hyw", true
	}
	return "", false
}

// IsEngineLanguage reports whether a code is an engine language.
func IsEngineLanguage(code string) bool {
	return slices.Contains(EngineLanguages(), code)
}

// EngineLanguages returns the languages of espeak-ng 1.51, by its own codes.
func EngineLanguages() []string {
	return []string{
		"af", "am", "an", "ar", "as", "az", "ba", "be", "bg", "bn", "bpy", "bs", "ca", "chr", "cmn",
		"cmn-latn-pinyin", "cs", "cv", "cy", "da", "de", "el", "en-029", "en-gb", "en-gb-scotland",
		"en-gb-x-gbclan", "en-gb-x-gbcwmd", "en-gb-x-rp", "en-us", "en-us-nyc", "eo", "es", "es-419", "et", "eu",
		"fa", "fa-latn", "fi", "fr-be", "fr-ch", "fr-fr", "ga", "gd", "gn", "grc", "gu", "hak", "haw", "he", "hi",
		"hr", "ht", "hu", "hy", "hyw", "ia", "id", "io", "is", "it", "ja", "jbo", "ka", "kk", "kl", "kn", "ko",
		"kok", "ku", "ky", "la", "lb", "lfn", "lt", "ltg", "lv", "mi", "mk", "ml", "mr", "ms", "mt", "my", "nb",
		"nci", "ne", "nl", "nog", "om", "or", "pa", "pap", "piqd", "pl", "pt", "pt-br", "py", "qdb", "qu", "quc",
		"qya", "ro", "ru", "ru-lv", "sd", "shn", "si", "sjn", "sk", "sl", "smj", "sq", "sr", "sv", "sw", "ta",
		"te", "th", "tk", "tn", "tr", "tt", "ug", "uk", "ur", "uz", "vi", "vi-vn-x-central", "vi-vn-x-south",
		"yue", "yue-latn-jyutping",
	}
}
