package espeak

import (
	_ "embed"
	"strings"
)

// voiceFiles has a line for each engine language of package speech, with its voice file in the data of espeak-ng 1.51.
//
//go:embed voicefiles.tsv
var voiceFiles string

// languageFiles maps each engine language to its voice file.
var languageFiles = parseVoiceFiles()

func parseVoiceFiles() map[string]string {
	files := map[string]string{}
	for line := range strings.Lines(voiceFiles) {
		language, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[language] = file
	}
	return files
}
