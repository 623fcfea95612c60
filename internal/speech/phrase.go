package speech

import (
	"math"
	"unicode/utf8"
)

// maxPhrases bounds the phrases of a segment; the rest belongs to the last one.
const maxPhrases = 64

// maxDrawnPitch bounds the deviations of pitch in semitones.
const maxDrawnPitch = 6

// The effects of a deviation by one standard deviation of the sampler at temperature 1.
const (
	pitchStep = 0.45 // semitones
	rangeStep = 0.12 // of the logarithm
	rateStep  = 0.035
	gainStep  = 0.7 // dB
	pauseStep = 0.3
	gapStep   = 0.01 // seconds; slower words are spaced out, faster ones are not moved closer
)

// phrasesOf returns the phrases of a segment; nil means the voice's own way.
func (m manner) phrasesOf(text string, seed int64) []Phrase {
	if m.isOwn() {
		return nil
	}
	if !m.varies {
		p := OwnPhrase(utf8.RuneCountInString(text))
		p.Range, p.Rate = round(clamp(m.width, 0, MaxRange)), round(clamp(m.rate, MinRate, MaxRate))
		return []Phrase{p}
	}
	draws := newSampler(m, seed, text)
	var phrases []Phrase
	for _, piece := range cutPhrases(text, m.phrases) {
		if n := len(phrases); n == maxPhrases {
			phrases[n-1].Runes += piece.Characters
			continue
		}
		phrases = append(phrases, m.vary(piece, draws.next()))
	}
	return phrases
}

// vary returns a phrase with a deviation.
func (m manner) vary(piece Segment, by deviation) Phrase {
	p := Phrase{
		Runes: piece.Characters,
		Pitch: clamp(pitchStep*by.pitch*m.lively, -maxDrawnPitch, maxDrawnPitch),
		Range: clamp(m.width*math.Exp(rangeStep*by.width), 0, MaxRange),
		Rate:  clamp(m.rate*math.Exp(rateStep*by.rate), MinRate, MaxRate),
		Gain:  clamp(gainStep*by.gain*m.lively, -MaxGain, MaxGain),
		Gap:   clamp(gapStep*-by.rate, 0, MaxGap),
		Pause: OwnPause,
	}
	p.Pauses = round(m.pause * math.Exp(pauseStep*by.pause))
	p.Pitch, p.Range, p.Rate, p.Gain, p.Gap = round(p.Pitch), round(p.Range), round(p.Rate), round(p.Gain), round(p.Gap)
	return p
}

// round keeps the engines' jobs short.
func round(value float64) float64 { return math.Round(value*1000) / 1000 }

// cutPhrases cuts a segment after breaks of at least one kind.
func cutPhrases(text string, after breakKind) []Segment {
	var ends []int
	for _, a := range scanAtoms(text) {
		if a.after >= after && a.end < len(text) {
			ends = append(ends, a.end)
		}
	}
	return joinUnspeakable(cutAt(text, append(ends, len(text))))
}
