package neural

import (
	"errors"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
	"github.com/recital-tts/recital/internal/speech/neural/family"
)

// comparedSentences is the number of sentences that are timed, and whose samples are compared with the whole model's.
const comparedSentences = 3

func (s *server) check(frame workers.Frame) error {
	checked, err := s.checked(frame)
	if err != nil {
		return s.writer.Write(engineproto.Refusal(err))
	}
	return s.writer.WriteJSON(engineproto.KindCheck, checked)
}

// checked counts the symbols that the voice lacks, and compares its samples with those of the whole model.
func (s *server) checked(frame workers.Frame) (checked engineproto.Checked, err error) {
	sentences, err := workers.ParseJSON[engineproto.Sentences](frame, engineproto.KindCheck)
	if err != nil {
		return checked, err
	}
	voice, err := s.voices.voice(Own)
	if err != nil {
		return checked, err
	}
	checked.Missing = map[string]int{}
	var spelt [][]int64
	for _, text := range sentences.Texts {
		ids, err := s.spell(voice, text, sentences.Language, checked.Missing)
		if err != nil {
			return checked, err
		}
		if len(ids) > 0 {
			spelt = append(spelt, ids)
		}
	}
	compared, err := s.compare(voice, spelt[:min(len(spelt), comparedSentences)])
	checked.Difference, checked.Ratio = compared.Decibels, compared.Ratio
	checked.Cost = compared.Time.Seconds() * float64(voice.Config.Audio.SampleRate) / float64(max(compared.Samples, 1))
	return checked, err
}

// spell returns the ids of a sentence, and counts the symbols that the voice lacks in missing.
func (s *server) spell(voice *Voice, text, language string, missing map[string]int) ([]int64, error) {
	runes := []rune(text)
	job := engineproto.Job{Text: text, Language: language, Speed: 1}
	clauses := cutClauses(runes, []speech.Phrase{speech.OwnPhrase(len(runes))})
	if err := s.transcriber.transcribe(job, clauses, voice.Config); err != nil {
		return nil, err
	}
	for _, c := range clauses {
		for _, w := range c.words {
			for _, r := range w.spelling {
				if len(voice.Config.id(string(r))) == 0 {
					missing[string(r)]++
				}
			}
		}
	}
	p := &performance{voice: voice, job: job}
	ids, _ := p.spell(voice.Config.units.cut(clauses))
	return ids, nil
}

// compare loads the whole model and compares the voice with it.
func (s *server) compare(voice *Voice, sentences [][]int64) (family.Comparison, error) {
	parts, err := split(s.voices.files(Own))
	if err != nil {
		return family.Comparison{}, err
	}
	compared, err := family.Compare(voice.model, parts.whole, sentences)
	if err == nil && compared.Samples == 0 {
		err = errors.New("the voice speaks no samples")
	}
	return compared, err
}
