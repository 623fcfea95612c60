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
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/cloning"
	"github.com/recital-tts/recital/internal/speech/cloning/formant"
	"github.com/recital-tts/recital/internal/speech/cloning/likenesstest"
	"github.com/recital-tts/recital/internal/speech/installed"
	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/speech/voicepack"
)

// reportClones prints the distances of clones, and of their base voices, from the voices of the recordings, on
// sentences that were not among the recordings.
func (t *tools) reportClones(ctx context.Context) error {
	table := newTable()
	fmt.Fprintln(table, "reference\taccent\tspeech\tbase\tF0 (st) recordings\tby chance\tbase\tclone\tLTAS (dB) "+
		"base\tclone\t"+
		"DTW-MFCC base\tclone\tnearer\tpace needed\tfitted\t")
	references, missing := voices(ctx, t.first.SampleRate(), *root)
	for _, r := range references {
		if err := t.printClones(ctx, table, r); err != nil {
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

// reference is a voice with its recordings: some for the clone, and others with their texts for the comparison.
type reference struct {
	name    string
	accent  string // the language and region
	given   [][]int16
	texts   []string
	heldOut [][]int16

	judgedAt int // the rate in Hz for the comparison with the held-out recordings
}

// printClones compares a reference with its clones: one with the speaker's accent, one without it, and one that may be
// based on an installed voice.
func (t *tools) printClones(ctx context.Context, table io.Writer, r reference) error {
	r.texts, r.heldOut = r.texts[:min(*most, len(r.texts))], r.heldOut[:min(*most, len(r.heldOut))]
	engine, cloner := t.first, formant.New(t.first)
	speaker := speech.NewSpeaker(engine).WithInstalled(t.installed)
	given := encode(slices.Concat(paused(r.given, engine.SampleRate())...))
	recording := cloning.Recording{PCM: bytes.NewReader(given), Rate: engine.SampleRate()}
	analysis, err := cloner.Analyse(ctx, recording, cloning.Options{})
	if err != nil {
		return err
	}
	heldOut := likenesstest.Measure(r.heldOut, r.judgedAt)
	own, chance := likenesstest.Chance(likenesstest.Measure(r.given, engine.SampleRate()), heldOut)
	bases := map[string]likenesstest.Voice{}
	for i, c := range []struct {
		accent string
		of     []speech.Voice
	}{{r.accent, nil}, {"", nil}, {r.accent, t.bases}} {
		accent := c.accent
		fitter := cloner.WithInstalled(func() []speech.Voice { return c.of })
		model, err := fitter.Fit(ctx, []cloning.Analysis{analysis}, cloning.Profile{Accent: accent}, nil)
		if err != nil {
			return err
		}
		voice, err := cloner.Open(model)
		if err != nil {
			return err
		}
		if i == 2 && voice.Installed == nil {
			continue // it is the first
		}
		clone, err := say(ctx, speaker, voice, r)
		if err != nil {
			return err
		}
		of := baseOf(voice, t.bases)
		base, known := bases[of.ID]
		if !known {
			if base, err = say(ctx, speaker, of, r); err != nil {
				return err
			}
			bases[of.ID] = base
		}
		a, b := likenesstest.Between(heldOut, base), likenesstest.Between(heldOut, clone)
		fmt.Fprintf(table, "%s\t%s\t%.0f s\t%s\t%.2f\t± %.2f\t%.2f\t%.2f\t%.1f\t%.1f\t%.1f\t%.1f\t%s\t%.2f\t%.2f\t\n",
			r.name, accent, analysis.Report.SpeechSeconds, of.ID, own, chance, a.Pitch, b.Pitch,
			a.Spectrum, b.Spectrum,
			a.Cepstrum, b.Cepstrum, verdict(a, b, chance), base.Seconds()/heldOut.Seconds(), base.Seconds()/clone.Seconds())
	}
	return nil
}

// paused returns sentences with half a second of silence after each, as in ordinary recordings: prompts are cut at
// their ends.
func paused(sentences [][]int16, rate int) (all [][]int16) {
	for _, s := range sentences {
		all = append(all, s, make([]int16, rate/2))
	}
	return all
}

// likely is the number of standard errors that chance exceeds once in twenty times.
const likely = 1.96

// verdict returns the respects in which a clone is nearer than its base. Pitches that differ no more than the
// recordings do by chance count as equal.
func verdict(base, clone likenesstest.Distance, chance float64) string {
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

// baseOf returns the base of a clone: an installed voice or a system voice.
func baseOf(clone speech.Voice, installed []speech.Voice) speech.Voice {
	of := func(v speech.Voice) bool { return v.Variant == clone.Variant }
	among := speech.Voices()
	if clone.Installed != nil {
		of, among = func(v speech.Voice) bool { return v.ID == clone.Installed.ID }, installed
	}
	return among[slices.IndexFunc(among, of)]
}

// openBases starts the installed voices of the packages.
func openBases(t *testing.T, rate int) (voices []speech.Voice, engines *installed.Engines) {
	engines = installed.New(installed.Config{
		Runtime: neuraltest.Runtime(t), Speechworker: speechworker, SampleRate: rate, Memory: 1 << 33,
	})
	t.Cleanup(func() { require.NoError(t, engines.CloseAll()) })
	for folder := range strings.SplitSeq(*packages, ",") {
		pack, err := voicepack.Open(os.DirFS(folder))
		require.NoError(t, err)
		run := voicepack.Voice{ID: pack.ID, Languages: pack.Languages, Package: pack.SHA256, Folder: folder}
		measured, err := engines.Measure(t.Context(), run)
		require.NoError(t, err)
		run.Cost = measured.Cost
		require.NoError(t, engines.Open(run))
		voices = append(voices, speech.Voice{ID: pack.ID, Gender: pack.Gender, Installed: &speech.Installed{
			ID: pack.ID, Languages: pack.Languages, Gain: measured.Gain,
			Base: &speech.Base{Package: pack.SHA256, Sound: measured.Sound},
		}})
	}
	return voices, engines
}

// say measures a voice that speaks the sentences of the reference.
func say(ctx context.Context, speaker *speech.Speaker, voice speech.Voice, r reference) (likenesstest.Voice, error) {
	language, _ := speech.LookupLanguage(r.accent)
	var all [][]int16
	for _, text := range r.texts {
		pcm, err := speak(ctx, speaker, speech.Request{Text: text, Voice: voice, Language: language})
		if err != nil {
			return likenesstest.Voice{}, err
		}
		samples, err := transmit(ctx, pcm, speaker.SampleRate(), r.judgedAt)
		if err != nil {
			return likenesstest.Voice{}, err
		}
		all = append(all, samples)
	}
	return likenesstest.Measure(all, r.judgedAt), nil
}

// transmit returns samples resampled to a rate.
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
