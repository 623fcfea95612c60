package neural

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
	"github.com/recital-tts/recital/internal/speech/neural/family"
)

// comparedSentences is the number of sentences whose samples are compared with the whole model's, and costedSentences
// the number of sentences that are timed.
const (
	comparedSentences = 2
	costedSentences   = 3
)

// check counts the symbols that the voice lacks, and compares its samples with those of the whole model.
func (s *server) check(frame workers.Frame) error {
	sentences, err := engineproto.ParseSentences(frame)
	if err != nil {
		return s.refuse(err)
	}
	voice, err := s.voices.voice(Own)
	if err != nil {
		return s.refuse(err)
	}
	checked := engineproto.Checked{Missing: map[string]int{}}
	var spelt [][]int64
	for _, text := range sentences.Texts {
		ids, err := s.spell(voice, text, sentences.Language, checked.Missing)
		if errors.Is(err, errRefused) {
			return s.refuse(err)
		}
		if err != nil {
			return err
		}
		if len(ids) > 0 {
			spelt = append(spelt, ids)
		}
	}
	if checked.Cost, err = cost(voice, spelt[:min(len(spelt), costedSentences)]); err != nil {
		return s.refuse(err)
	}
	whole, err := s.compare(voice, spelt[:min(len(spelt), comparedSentences)])
	if err != nil {
		return s.refuse(err)
	}
	checked.Difference = whole.Decibels
	if whole.Whole > 0 {
		checked.Ratio = whole.Parts.Seconds() / whole.Whole.Seconds()
	}
	reply, err := engineproto.CheckFrame(checked)
	if err != nil {
		return err
	}
	return s.writer.Write(reply)
}

// spell returns the ids of a sentence, and counts the symbols that the voice lacks in missing.
func (s *server) spell(
	voice *Voice, text, language string, missing map[string]int,
) ([]int64, error) {
	runes := []rune(text)
	job := engineproto.Job{Text: text, Language: language, Speed: 1}
	clauses := cutClauses(runes, []speech.Phrase{speech.OwnPhrase(len(runes))})
	if err := s.transcriber.transcribe(job, clauses, voice.Config); err != nil {
		return nil, err
	}
	for _, c := range clauses {
		for _, w := range c.words {
			_, lacking := voice.Config.symbols(w)
			for _, r := range lacking {
				missing[string(r)]++
			}
		}
	}
	p := &performance{voice: voice, job: job}
	ids, _ := p.spell(voice.Config.units.cut(clauses))
	return ids, nil
}

// cost returns the processor time in seconds for a second of speech. Unlike wall time, it hardly depends on other
// processes.
func cost(voice *Voice, sentences [][]int64) (float64, error) {
	samples := 0
	start, err := family.ProcessorTime()
	if err != nil {
		return 0, err
	}
	for _, ids := range sentences {
		encoded, err := voice.model.Encode(context.Background(), ids, family.Noise{})
		if err != nil {
			return 0, err
		}
		spoken, err := encoded.Samples(family.Round(encoded.Durations))
		if err != nil {
			return 0, err
		}
		samples += len(spoken)
	}
	end, err := family.ProcessorTime()
	if err != nil || samples == 0 {
		return 0, errors.Join(err, errors.New("the voice speaks no samples"))
	}
	return (end - start).Seconds() * float64(voice.Config.Audio.SampleRate) / float64(samples), nil
}

// compare loads the whole model and compares the voice with it.
func (s *server) compare(voice *Voice, sentences [][]int64) (family.Comparison, error) {
	folder, err := fs.Sub(s.voices.packages, s.voices.own)
	if err != nil {
		return family.Comparison{}, fmt.Errorf("looking at a voice: %w", err)
	}
	parts, err := split(folder)
	if err != nil {
		return family.Comparison{}, err
	}
	return voice.model.Compare(parts.whole, sentences)
}
