package speech

import (
	_ "embed"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/recital-tts/recital/internal/speech/audio"
)

// The engines, as the table of gains names them.
const (
	FirstEngine  = "espeak-ng"
	SecondEngine = "flite"
)

// gainTable is written by make loudness. A row has an engine, a language, and the gain in decibels that brings each of
// Voices to the loudness loudness.Target: an engine is quieter in some languages than in others, and voices differ.
//
//go:embed gains.tsv
var gainTable string

// gainRow is a row of the table.
type gainRow struct {
	engine, language string
	gains            []float64
}

// gainRows parses the table once. It panics if the table is damaged, which a test would notice.
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

// languageGain returns how much quieter the first engine is in a language than in American English, as a mean of all
// voices. A cloned voice has the loudness of the others in American English.
func languageGain(language string) float64 {
	difference, english := 0.0, gainsOf(FirstEngine, "en-us")
	for i, gain := range gainsOf(FirstEngine, language) {
		difference += gain - english[i]
	}
	return difference / float64(len(english))
}

// isAudible reports whether samples contain sound.
func isAudible(pcm []byte) bool { return audio.TrailingSilence(pcm) < len(pcm)/2 }

// speedGain returns what makes speech as loud at a speed as at 1, in dB: the engines are louder when they speak slowly,
// down to their slowest, and espeak-ng is quieter when it speaks fast.
func speedGain(speed float64, second bool) float64 {
	const slowFirst, slowSecond, fastFirst = 1.2, 0.6, 1.5 // dB for an octave
	octaves := math.Log2(max(speed, slowestOwn))
	switch {
	case octaves < 0 && second:
		return slowSecond * octaves
	case octaves < 0:
		return slowFirst * octaves
	case second:
		return 0
	}
	return fastFirst * octaves
}
