package reporttest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/cloning"
	"github.com/recital-tts/recital/internal/speech/cloning/formant"
	"github.com/recital-tts/recital/internal/speech/cloning/likeness"
)

// reportClones prints how far clones, and the system voices that they are made of, are from the voices of the
// recordings, on sentences that were not among the recordings.
func (t *tools) reportClones(ctx context.Context) error {
	table := newTable()
	fmt.Fprintln(table, "reference\taccent\tspeech\tbase\tF0 (st) recordings\tby chance\tbase\tclone\tLTAS (dB) "+
		"base\tclone\t"+
		"DTW-MFCC base\tclone\tnearer\tpace needed\tfitted\t")
	references, missing := voices(ctx, t.first.SampleRate(), *root)
	for _, r := range references {
		if err := printClones(ctx, table, t.first, r); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		if err := table.Flush(); err != nil { // each takes a minute
			return err
		}
	}
	for _, name := range missing {
		fmt.Println("missing:", name)
	}
	return nil
}

// reference is a voice with what it says: recordings that a clone is made of, and others with their texts.
type reference struct {
	name    string
	accent  string // the language that it speaks, and where
	given   [][]int16
	texts   []string
	heldOut [][]int16

	judgedAt int // the rate in Hz of what is held out and compared with it
}

// printClones compares a reference with its clones: one of a speaker whose accent is known, one of a speaker whose is
// not.
func printClones(ctx context.Context, table io.Writer, engine speech.Engine, r reference) error {
	cloner := formant.New(engine)
	given := encode(slices.Concat(paused(r.given, engine.SampleRate())...))
	recording := cloning.Recording{PCM: bytes.NewReader(given), Rate: engine.SampleRate()}
	analysis, err := cloner.Analyse(ctx, recording, cloning.Options{})
	if err != nil {
		return err
	}
	heldOut := likeness.Measure(r.heldOut, r.judgedAt)
	own, chance := likeness.Chance(likeness.Measure(r.given, engine.SampleRate()), heldOut)
	bases := map[string]likeness.Voice{}
	for _, accent := range []string{r.accent, ""} {
		model, err := cloner.Fit(ctx, []cloning.Analysis{analysis}, cloning.Profile{Accent: accent}, nil)
		if err != nil {
			return err
		}
		voice, err := cloner.Open(model)
		if err != nil {
			return err
		}
		clone, err := say(ctx, engine, voice, r)
		if err != nil {
			return err
		}
		base, known := bases[voice.Variant]
		if !known {
			if base, err = say(ctx, engine, systemVoice(voice.Variant), r); err != nil {
				return err
			}
			bases[voice.Variant] = base
		}
		a, b := likeness.Between(heldOut, base), likeness.Between(heldOut, clone)
		fmt.Fprintf(table, "%s\t%s\t%.0f s\t%s\t%.2f\t± %.2f\t%.2f\t%.2f\t%.1f\t%.1f\t%.1f\t%.1f\t%s\t%.2f\t%.2f\t\n",
			r.name, accent, analysis.Report.SpeechSeconds, systemVoice(voice.Variant).ID, own, chance, a.Pitch, b.Pitch,
			a.Spectrum, b.Spectrum,
			a.Cepstrum, b.Cepstrum, verdict(a, b, chance), base.Seconds()/heldOut.Seconds(), base.Seconds()/clone.Seconds())
	}
	return nil
}

// paused returns sentences with half a second of silence after each, as those who record them pause: prompts are cut
// where they end.
func paused(sentences [][]int16, rate int) (all [][]int16) {
	for _, s := range sentences {
		all = append(all, s, make([]int16, rate/2))
	}
	return all
}

// likely is the number of standard errors that chance seldom exceeds: once in twenty times.
const likely = 1.96

// verdict returns in which respects a clone is nearer than its base. Pitches that are not farther from each other than
// chance brings the recordings are not told apart.
func verdict(base, clone likeness.Distance, chance float64) string {
	switch {
	case clone.Nearer(base):
		return "all three"
	case clone.Spectrum >= base.Spectrum:
		return "not LTAS"
	case clone.Cepstrum >= base.Cepstrum:
		return "not DTW-MFCC"
	case clone.Pitch-base.Pitch < likely*chance:
		return "two, F0 undecided"
	}
	return "not F0"
}

func systemVoice(variant string) speech.Voice {
	for _, v := range speech.Voices() {
		if v.Variant == variant {
			return v
		}
	}
	return speech.Voice{}
}

// say measures a voice that says what the reference says.
func say(ctx context.Context, engine speech.Engine, voice speech.Voice, r reference) (likeness.Voice, error) {
	language, _ := speech.LookupLanguage(r.accent)
	var all [][]int16
	for _, text := range r.texts {
		pcm, err := speak(ctx, speech.NewSpeaker(engine), speech.Request{Text: text, Voice: voice, Language: language})
		if err != nil {
			return likeness.Voice{}, err
		}
		samples, err := transmit(ctx, pcm, engine.SampleRate(), r.judgedAt)
		if err != nil {
			return likeness.Voice{}, err
		}
		all = append(all, samples)
	}
	return likeness.Measure(all, r.judgedAt), nil
}

// transmit returns samples at another rate.
func transmit(ctx context.Context, pcm []byte, rate, wanted int) ([]int16, error) {
	if rate == wanted {
		return audio.AppendSamples(nil, pcm), nil
	}
	file, err := os.CreateTemp("", "spoken-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(pcm)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return convert(ctx, wanted, "-f", "s16le", "-ar", fmt.Sprint(rate), "-ac", "1", "-i", file.Name())
}

func encode(samples []int16) []byte {
	pcm := make([]byte, 0, 2*len(samples))
	for _, s := range samples {
		pcm = binary.LittleEndian.AppendUint16(pcm, uint16(s))
	}
	return pcm
}
