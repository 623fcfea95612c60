package speech

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/recital-tts/recital/internal/speech/audio"
)

// The names of the engines in the table of gains.
const (
	FirstEngine  = "espeak-ng"
	SecondEngine = "flite"
)

// SlowSpeed is the engines' slowest speed. Slower speech is stretched.
const SlowSpeed = 0.5

// EngineAt returns the name of an engine at a speed in the table of gains.
func EngineAt(engine string, speed float64) string {
	if speed == 1 {
		return engine
	}
	return fmt.Sprintf("%s@%v", engine, speed)
}

// gainTable is written by make loudness. A row has an engine, a language, and the gain in decibels that brings each of
// Voices to loudness.Target. The loudness depends on the language, the speed and the voice.
//
//go:embed gains.tsv
var gainTable string

// gainRow is a row of the table.
type gainRow struct {
	engine, language string
	gains            []float64
}

// gainRows parses the table once. It panics if the table is damaged, which a test detects.
var gainRows = sync.OnceValue(func() (rows []gainRow) {
	for line := range strings.Lines(gainTable) {
		fields := strings.Fields(line)
		row := gainRow{engine: fields[0], language: fields[1]}
		for _, field := range fields[2:] {
			gain, err := strconv.ParseFloat(field, 64)
			if err != nil {
				panic(err)
			}
			row.gains = append(row.gains, gain)
		}
		rows = append(rows, row)
	}
	return rows
})

// gainsOf returns the gains of an engine in a language, in the order of Voices; 0 if they were not measured.
func gainsOf(engine, language string) []float64 {
	for _, row := range gainRows() {
		if row.engine == engine && row.language == language {
			return row.gains
		}
	}
	return make([]float64, len(Voices()))
}

// gainOf returns the gain of a system voice.
func gainOf(engine, language string, voice Voice) float64 {
	i := slices.IndexFunc(Voices(), func(v Voice) bool { return v.Variant == voice.Variant })
	return gainsOf(engine, language)[max(i, 0)]
}

// languageGain returns how many dB quieter the first engine is in a language than in American English, as a mean of all
// voices. Cloned voices are measured in American English.
func languageGain(language string) float64 {
	difference, english := 0.0, gainsOf(FirstEngine, "en-us")
	for i, gain := range gainsOf(FirstEngine, language) {
		difference += gain - english[i]
	}
	return difference / float64(len(english))
}

// isAudible reports whether samples contain sound.
func isAudible(pcm []byte) bool { return audio.TrailingSilence(pcm) < len(pcm)/2 }

// stretchedIsLouder is the gain in dB of speech that is stretched to half its speed, as a mean of the languages in the
// loudness report.
const stretchedIsLouder = 0.34

// speedGain returns the gain in dB that makes a voice as loud at a speed as at speed 1. It is interpolated from the
// engine's slowest or fastest speed, and below the slowest reduced for the stretching. A language that was not measured
// uses the gains of English.
func speedGain(engine, language string, voice Voice, speed float64) float64 {
	if speed == 1 {
		return 0
	}
	farthest := SlowSpeed
	if speed > 1 {
		farthest = MaxSpeed
	}
	name := EngineAt(engine, farthest)
	if !slices.ContainsFunc(gainRows(), func(r gainRow) bool { return r.engine == name && r.language == language }) {
		language = secondEngineLanguage
	}
	part := math.Log2(max(speed, SlowSpeed)) / math.Log2(farthest)
	stretched := math.Log2(SlowSpeed / min(speed, SlowSpeed))
	return part*(gainOf(name, language, voice)-gainOf(engine, language, voice)) - stretchedIsLouder*stretched
}
