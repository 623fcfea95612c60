package speech

import "math"

// Prosody is the requested way of speaking. The zero value is the voice's own way, in which every text has one
// rendering. Nil and empty fields are not requested.
//
// Temperature, TopP, TopK, Quality and Solver request delivery that varies from phrase to phrase, and so does
// Conversational: each phrase's pitch, intonation, pace, loudness and pauses are then drawn (see sampler). The values
// depend only on the seed, the parameters and the text.
type Prosody struct {
	Conversational bool     // in conversational style: livelier, a little faster, with shorter pauses
	Temperature    *float64 // how far phrases deviate; above 0, 1 when other fields request variation
	TopP           *float64 // only the most likely deviations that together have this probability; 0 to 1, 0.8 by default
	TopK           *int     // only the k most likely deviations; 0 means all
	Expressive     *float64 // how wide intonation and its variation are: 0 is monotone, 1 the voice's own, 2 the maximum
	// How finely delivery varies: 0 by segments, 1 by sentences, 2 and more by clauses (the default).
	Quality *int
	Solver  string // how a phrase's deviation follows from the draws: see solverMemory
}

// Defaults if variation is requested.
const (
	defaultTemperature = 1.0
	defaultTopP        = 0.8
	defaultQuality     = 2
)

// Effects of the conversational and the calm style.
const (
	conversationalRange = 1.15
	conversationalRate  = 1.05
	conversationalPause = 0.7
	calmRange           = 0.8
	calmRate            = 0.97
)

// manner holds the parameters derived from a Prosody.
type manner struct {
	width       float64   // a factor on the intonation's range
	rate, pause float64   // factors
	lively      float64   // a factor on deviations of pitch and loudness
	varies      bool      // delivery is drawn for each phrase; the fields below apply to that
	phrases     breakKind // phrases end at breaks of at least this kind
	temperature float64
	topP        float64
	topK        int
	memory      int // number of draws per deviation
}

func newManner(p Prosody, model string) manner {
	m := manner{width: 1, rate: 1, pause: 1, lively: 1}
	if p.Expressive != nil {
		m.lively = liveliness(*p.Expressive)
		m.width = m.lively
	}
	if model == ModelBlizzard20 {
		m.width *= calmRange
		m.rate *= calmRate
	}
	conversational := p.Conversational || model == ModelBlizzardDialogue
	if conversational {
		m.width *= conversationalRange
		m.rate *= conversationalRate
		m.pause *= conversationalPause
	}
	m.varies = conversational || p.Temperature != nil || p.TopP != nil || p.TopK != nil || p.Quality != nil ||
		p.Solver != ""
	m.phrases = phraseBreak(valueOr(p.Quality, defaultQuality))
	m.temperature = valueOr(p.Temperature, defaultTemperature)
	m.topP = valueOr(p.TopP, defaultTopP)
	m.topK = valueOr(p.TopK, 0)
	m.memory = solverMemory(p.Solver)
	return m
}

func liveliness(expressive float64) float64 {
	if math.IsNaN(expressive) {
		return 1
	}
	return clamp(expressive, 0, MaxRange)
}

func phraseBreak(quality int) breakKind {
	switch {
	case quality <= 0:
		return breakSentence + 1 // nowhere
	case quality == 1:
		return breakSentence
	default:
		return breakClause
	}
}

// solverMemory returns the number of draws that make up a deviation: like a solver of higher order, which uses more
// points, a phrase then follows the ones before it more closely. Other names mean euler.
func solverMemory(solver string) int {
	switch solver {
	case "midpoint", "heun":
		return 2
	case "rk4", "dopri5":
		return 4
	default: //"euler": each phrase is drawn independently
		return 1
	}
}

// isOwn reports whether the voice's own way is requested.
func (m manner) isOwn() bool {
	return !m.varies && m.width == 1 && m.rate == 1 && m.pause == 1
}

func valueOr[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}

func clamp(value, least, most float64) float64 { return min(max(value, least), most) }
