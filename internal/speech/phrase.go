package speech

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPhrases bounds the phrases of a segment; the rest belongs to the last one.
const maxPhrases = 64

// Pauses after phrases in seconds at speed 1: those of espeak-ng for English punctuation.
const (
	sentencePause = 0.25
	clausePause   = 0.22
	commaPause    = 0.14
)

// maxDrawnPitch bounds the deviations of pitch in semitones.
const maxDrawnPitch = 6

// The effect of a deviation by one step of the sampler's standard deviation at temperature 1.
const (
	pitchStep = 0.45 // semitones
	rangeStep = 0.12 // of the logarithm
	rateStep  = 0.035
	gainStep  = 0.7 // dB
	pauseStep = 0.3
	gapStep   = 0.01 // seconds; slower words are spaced out, faster ones are not moved closer
)

// phrasesOf returns how a segment is spoken; nil means the voice's own way.
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
	if own := pauseAfter(piece.Text); own != OwnPause {
		p.Pause = round(clamp(own*m.pause*math.Exp(pauseStep*by.pause), 0, MaxPause))
	}
	p.Pitch, p.Range, p.Rate, p.Gain, p.Gap = round(p.Pitch), round(p.Range), round(p.Rate), round(p.Gain), round(p.Gap)
	return p
}

// round keeps the engines' jobs short.
func round(value float64) float64 { return math.Round(value*1000) / 1000 }

// cutPhrases cuts a segment after breaks of at least this kind.
func cutPhrases(text string, after breakKind) []Segment {
	var ends []int
	for _, a := range scanAtoms(text) {
		if a.after >= after && a.end < len(text) {
			ends = append(ends, a.end)
		}
	}
	return joinUnspeakable(cutAt(text, append(ends, len(text))))
}

// pauseAfter returns the pause for a phrase's last mark, or OwnPause if only the engine knows it: after paragraphs,
// and without a mark.
func pauseAfter(text string) float64 {
	said := strings.TrimRightFunc(text, unicode.IsSpace)
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRightFunc(said, isCloser))
	switch {
	case strings.ContainsAny(text[len(said):], "\n\u2029"):
		return OwnPause
	case isSentenceMark(last):
		return sentencePause
	case strings.ContainsRune(",،、，､፣", last):
		return commaPause
	case isClauseMark(last):
		return clausePause
	default:
		return OwnPause
	}
}
