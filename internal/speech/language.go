package speech

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
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
		if engine := languages().aliases[code]; engine != "" {
			return engine, true
		}
		if IsEngineLanguage(code) {
			return code, true
		}
		code = code[:max(strings.LastIndexByte(code, '-'), 0)]
	}
	return "", false
}

// languageTable has lines of these kinds:
//
//	alias   codes other than the engine's own, and the engine language; see StandIn about gl
//	near    codes of languages that the engine does not speak, and the engine language; see NearestLanguage
//	script  a script, the engine language of most of its texts, and the weight of a letter; see scriptLanguage
//	other   engine languages that are not written in Latin letters alone
//
//go:embed languages.tsv
var languageTable string

// languageData is the content of the table.
type languageData struct {
	aliases, nearest map[string]string
	scripts          []scriptLanguage
	other            map[string]bool
}

var languages = sync.OnceValue(func() languageData {
	d := languageData{aliases: map[string]string{}, nearest: map[string]string{}, other: map[string]bool{}}
	for line := range strings.Lines(languageTable) {
		row := strings.Split(strings.TrimSpace(line), "\t")
		for code := range strings.FieldsSeq(row[1]) {
			switch row[0] {
			case "alias":
				d.aliases[code] = row[2]
			case "near":
				d.nearest[code] = row[2]
			case "script":
				d.scripts = append(d.scripts, scriptLanguage{unicode.Scripts[code], row[2], int(row[3][0] - '0')})
			case "other":
				d.other[code] = true
			}
		}
	}
	return d
})

// StandIn returns the warning for a client that another language is spoken in place of the requested one, or "".
func StandIn(code string) string {
	if primarySubtag(code) == "gl" {
		return "language: Galician is spoken as Spanish"
	}
	return ""
}

// NearestLanguage returns the engine language that is nearest to one that the engine does not speak, by sounds and
// kinship, or "".
func NearestLanguage(code string) string { return languages().nearest[primarySubtag(code)] }

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
