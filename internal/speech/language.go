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
	case "gl": // with a warning: see StandIn
		return "es", true
	case "vi-vn":
		return "vi", true
	case "hy-arevela":
		return "hy", true
	case "hy-arevmda":
		return "hyw", true
	}
	return "", false
}

// StandIn returns the warning for a client that another language is spoken in place of the requested one, or "".
func StandIn(code string) string {
	if primarySubtag(code) == "gl" {
		return "language: Galician is spoken as Spanish"
	}
	return ""
}

// NearestLanguage returns the engine language that is nearest to one that the engine does not speak, by sounds and
// kinship, or "".
func NearestLanguage(code string) string {
	switch primarySubtag(code) {
	case "fil", "tl":
		return "id"
	case "km":
		return "vi"
	case "lo":
		return "th"
	case "so":
		return "om"
	case "zu":
		return "tn"
	case "yo":
		return "sw"
	}
	return ""
}

func primarySubtag(code string) string {
	primary, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(code)), "_", "-"), "-")
	return primary
}

// IsEngineLanguage reports whether a code is an engine language.
func IsEngineLanguage(code string) bool {
	return slices.Contains(EngineLanguages(), code)
}

// EngineLanguages returns the languages of espeak-ng 1.51 in alphabetical order of its own codes. All of them have
// measured gains.
func EngineLanguages() []string {
	var languages []string
	for _, row := range gainRows() {
		if row.engine == FirstEngine {
			languages = append(languages, row.language)
		}
	}
	return languages
}
