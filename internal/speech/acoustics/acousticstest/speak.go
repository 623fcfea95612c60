package acousticstest

import (
	"context"
	"encoding/binary"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
)

// Utterance is a sentence spoken by an engine, with silence before and after it.
type Utterance struct {
	Name       string // of the voice
	Samples    []int16
	Rate       int
	Start, End float64 // seconds
}

// silence before and after an utterance, in seconds.
const silence = 0.6

// Sentences is the number of sentences that each voice speaks.
const Sentences = 3

func sentences() [Sentences]string {
	return [...]string{
		"She sells fresh bread, cheese and honey at the small market near the river every Saturday.",
		"Turn left after the bridge, drive straight on for two miles, and you will see the house.",
		"Fish and chips, please.",
	}
}

// Speak returns all sentences in some voices.
func Speak(ctx context.Context, engine speech.Engine, voices []speech.Voice) (all []Utterance, err error) {
	for _, voice := range voices {
		for _, text := range sentences() {
			job := speech.Job{Text: text, Voice: voice, Language: "en-us", Speed: 1}
			pcm, _, err := speech.Synthesise(ctx, engine, job)
			if err != nil {
				return nil, err
			}
			samples := audio.AppendSamples(nil, pcm)
			from, to := Bounds(samples)
			rate := engine.SampleRate()
			pause := make([]int16, int(silence*float64(rate)))
			u := Utterance{Name: voice.ID, Rate: rate, Start: silence, End: silence + float64(to-from)/float64(rate)}
			u.Samples = append(append(append(u.Samples, pause...), samples[from:to]...), pause...)
			all = append(all, u)
		}
	}
	return all, nil
}

// Others returns the utterances of the other voices at the rate of an utterance.
func Others(all []Utterance, u Utterance) (others [][]int16) {
	for _, other := range all {
		if other.Name != u.Name && other.Rate == u.Rate {
			others = append(others, other.Samples)
		}
	}
	return others[:min(len(others), 12)]
}

// WAV returns a file of the utterance.
func (u Utterance) WAV() []byte {
	le, size := binary.LittleEndian, 2*len(u.Samples)
	wav := le.AppendUint32([]byte("RIFF"), uint32(36+size))
	wav = le.AppendUint32(append(wav, "WAVEfmt "...), 16)
	wav = le.AppendUint16(le.AppendUint16(wav, 1), 1)
	wav = le.AppendUint32(le.AppendUint32(wav, uint32(u.Rate)), uint32(2*u.Rate))
	wav = le.AppendUint16(le.AppendUint16(wav, 2), 16)
	wav = le.AppendUint32(append(wav, "data"...), uint32(size))
	for _, s := range u.Samples {
		wav = le.AppendUint16(wav, uint16(s))
	}
	return wav
}
