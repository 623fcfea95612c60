package espeak

import (
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

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

// languages has a line for each engine language of package speech, with its voice file in the data of espeak-ng 1.51
// and the code points of the letters of plain texts (see isRisky): the Latin ones if there is no column, and none if
// every text is risky. Plain words in the abugidas of India and its neighbours crash espeak-ng, too.
//
//go:embed languages.tsv
var languages string

// languageFiles maps each engine language to its voice file, and plainLetters to the letters, or nil for none.
var languageFiles, plainLetters = parseLanguages()

const latinLetters = "0041-005A 0061-007A 00C0-024F 1E00-1EFF"

func parseLanguages() (files map[string]string, letters map[string]*unicode.RangeTable) {
	files, letters = map[string]string{}, map[string]*unicode.RangeTable{}
	for line := range strings.Lines(languages) {
		row := append(strings.Split(strings.TrimSpace(line), "\t"), latinLetters)
		files[row[0]] = row[1]
		if row[2] != "none" {
			letters[row[0]] = lettersIn(row[2])
		}
	}
	return files, letters
}

// lettersIn returns a table of ranges of code points.
func lettersIn(ranges string) *unicode.RangeTable {
	table := &unicode.RangeTable{}
	for text := range strings.FieldsSeq(ranges) {
		r := unicode.Range16{Stride: 1}
		if _, err := fmt.Sscanf(text, "%x-%x", &r.Lo, &r.Hi); err != nil {
			panic(err) // it is compiled in
		}
		table.R16 = append(table.R16, r)
	}
	return table
}
