package espeak

import (
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/recital-tts/recital/internal/speech"
)

// formant is a peak of a variant's spectrum, in percent of the peak in the language's voice.
type formant struct{ frequency, height, width, shift int }

// peaks is the number of formants, including the hum below the first one.
const peaks = 9

// lowestFormant is the first formant that depends on the length of the vocal tract.
const lowestFormant = 1

// mostBreath is the level of noise at a formant in espeak-ng's breathiest natural variant.
const mostBreath = 8

// voice identifies a voice for espeak-ng: by its name, or by the lines of a voice file.
type voice struct {
	name  string // such as "gmw/en-US+f2"
	lines string
}

// voice returns the task's voice in a language. Both have been checked.
func (t task) voice(language string) (voice, error) {
	if t.Timbre == nil {
		return voice{name: languageFiles[language] + "+" + t.Variant}, nil
	}
	own, err := os.ReadFile(filepath.Join(dataFolder(), "lang", languageFiles[language]))
	if err != nil {
		return voice{}, fmt.Errorf("reading the voice of a language: %w", err)
	}
	variant, err := os.ReadFile(filepath.Join(dataFolder(), "voices", "!v", t.Variant))
	if err != nil {
		return voice{}, fmt.Errorf("reading a variant: %w", err)
	}
	return voice{lines: without(string(own), tone()...) + adapt(string(variant), *t.Timbre)}, nil
}

// tone returns the keywords of a language's voice that a variant replaces.
func tone() []string {
	return []string{
		"pitch", "formant", "tone", "breath", "breathw", "voicing", "consonants", "flutter", "roughness", "speed", "echo",
	}
}

// without returns the lines that do not start with one of the keywords.
func without(lines string, keywords ...string) string {
	var out strings.Builder
	for line := range strings.Lines(lines) {
		if fields := strings.Fields(line); len(fields) > 0 && !slices.Contains(keywords, fields[0]) {
			fmt.Fprintln(&out, strings.TrimSpace(line))
		}
	}
	return out.String()
}

// adapt returns the lines of a variant in a timbre. It keeps the properties that the timbre does not determine, except
// the echo, which belongs to a room rather than a voice.
func adapt(variant string, timbre speech.Timbre) string {
	var out strings.Builder
	out.WriteString(without(variant, "language", "name", "gender", "pitch", "echo", "breath", "formant"))
	formants := [peaks]formant{}
	for i := range formants {
		formants[i] = formant{100, 100, 100, 0}
	}
	for line := range strings.Lines(variant) {
		readFormant(line, &formants)
	}
	fmt.Fprintf(&out, "pitch %d %d\n", round(timbre.PitchLow), round(timbre.PitchHigh))
	for i, f := range formants {
		if i >= lowestFormant {
			f.frequency = round(float64(f.frequency) * timbre.Formants)
			f.shift = round(float64(f.shift) * timbre.Formants)
		}
		fmt.Fprintf(&out, "formant %d %d %d %d %d\n", i, f.frequency, f.height, f.width, f.shift)
	}
	if breath := round(mostBreath * timbre.Breath); breath > 0 {
		fmt.Fprintf(&out, "breath 0 %d %d %d %d %d %d %d\n", breath, breath, breath, breath, breath, breath, breath)
	}
	return out.String()
}

func readFormant(line string, formants *[peaks]formant) {
	var number int
	f := formant{100, 100, 100, 0}
	n, _ := fmt.Sscanf(line, "formant %d %d %d %d %d", &number, &f.frequency, &f.height, &f.width, &f.shift)
	if n >= 2 && number >= 0 && number < peaks {
		formants[number] = f
	}
}

func round(value float64) int { return int(math.Round(value)) }

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
