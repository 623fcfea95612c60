package reporttest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/loudness"
	"github.com/recital-tts/recital/internal/speech/loudness/loudnesstest"
	"github.com/recital-tts/recital/internal/speech/mastering"
)

// reportLoudness prints the loudness of each voice by language and engine, for sentences that were not used in the
// calibration.
func (t *tools) reportLoudness(ctx context.Context) error {
	speaker := speech.NewSpeaker(t.first).WithSecondEngine(t.second)
	table := newTable()
	fmt.Fprint(table, "engine\tlanguage\tspeed\t")
	for _, voice := range speech.Voices() {
		fmt.Fprint(table, voice.ID, "\t")
	}
	fmt.Fprint(table, "highest sample\t\n")
	texts := textsOf("loudness.tsv")
	farthest := 0.0
	for _, language := range slices.Sorted(maps.Keys(texts)) {
		byEngine := models(language)
		for _, engine := range slices.Sorted(maps.Keys(byEngine)) {
			for _, speed := range []float64{1, speech.MinSpeed, 0.5, speech.MaxSpeed} {
				r := speech.Request{Text: texts[language], Language: language, Model: byEngine[engine], Speed: speed}
				off, err := reportLoudnessOf(ctx, table, speaker, r, engine)
				if err != nil {
					return err
				}
				farthest = max(farthest, off)
			}
			fmt.Fprintf(os.Stderr, "%s is measured in %s: so far at most %.2f LU away\n", engine, language, farthest)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Printf("in LUFS, with %.0f as the target: at most %.1f LU away from it\n", loudness.Target, farthest)
	return nil
}

// models returns a model for each engine of a language.
func models(language string) map[string]string {
	byEngine := map[string]string{speech.FirstEngine: speech.ModelAurora}
	if language == "en-us" {
		byEngine[speech.SecondEngine] = speech.ModelBlizzard
	}
	return byEngine
}

// reportLoudnessOf prints one row and returns the largest distance from the target.
func reportLoudnessOf(
	ctx context.Context, table io.Writer, speaker *speech.Speaker, r speech.Request, engine string,
) (farthest float64, err error) {
	fmt.Fprint(table, engine, "\t", r.Language, "\t", r.Speed, "\t")
	highest := 0
	for _, voice := range speech.Voices() {
		r.Voice = voice
		pcm, err := speak(ctx, speaker, r)
		if err != nil {
			return 0, err
		}
		loud := loudnesstest.Of(pcm, speaker.SampleRate())
		fmt.Fprintf(table, "%.1f\t", loud)
		farthest, highest = max(farthest, math.Abs(loud-loudness.Target)), max(highest, loudnesstest.Peak(pcm))
	}
	fmt.Fprint(table, highest, "\t\n")
	return farthest, nil
}

// numbersAreQuieter is the difference in dB between sentences and numbers, as a mean of the languages with both.
const numbersAreQuieter = 1.0

// writeGains measures both engines and writes the table of gains of package speech.
func (t *tools) writeGains(ctx context.Context) error {
	var out bytes.Buffer
	for _, language := range speech.EngineLanguages() {
		if err := writeGainsOf(ctx, &out, speech.FirstEngine, t.first, language, 1); err != nil {
			return err
		}
	}
	if err := writeGainsOf(ctx, &out, speech.SecondEngine, t.second, "en-us", 1); err != nil {
		return err
	}
	if err := t.writeGainsOfSpeeds(ctx, &out); err != nil {
		return err
	}
	return os.WriteFile(gains, out.Bytes(), 0o644)
}

// writeGainsOfSpeeds measures both engines at other speeds, in the languages with a text of their own.
func (t *tools) writeGainsOfSpeeds(ctx context.Context, out io.Writer) error {
	for _, speed := range []float64{speech.SlowSpeed, speech.MaxSpeed} {
		for _, line := range linesOf("calibration.tsv") {
			language, _, _ := strings.Cut(line, "\t")
			name := speech.EngineAt(speech.FirstEngine, speed)
			if err := writeGainsOf(ctx, out, name, t.first, language, speed); err != nil {
				return err
			}
		}
		name := speech.EngineAt(speech.SecondEngine, speed)
		if err := writeGainsOf(ctx, out, name, t.second, "en-us", speed); err != nil {
			return err
		}
	}
	return nil
}

func writeGainsOf(
	ctx context.Context, out io.Writer, name string, engine speech.Engine, language string, speed float64,
) error {
	text, numbers := calibrationText(language)
	fmt.Fprint(out, name, "\t", language)
	for _, voice := range speech.Voices() {
		job := speech.Job{Text: text, Voice: voice, Language: language, Speed: speed}
		pcm, _, err := speech.Synthesise(ctx, speech.WithFrontEnd(engine, nil), job)
		if err != nil {
			return fmt.Errorf("%s in %s: %w", voice.ID, language, err)
		}
		gain := gainFor(pcm, engine.SampleRate())
		if numbers {
			gain -= numbersAreQuieter
		}
		if math.IsInf(gain, 0) {
			return fmt.Errorf("%s is silent in %s", voice.ID, language)
		}
		fmt.Fprintf(out, "\t%.1f", math.Round(10*gain)/10+0) // -0 + 0 is 0
	}
	fmt.Fprintln(out)
	return nil
}

// corrections is the number of rounds that correct a gain for the limiter after it.
const corrections = 3

// gainFor returns the gain that brings samples to the target after the limiter, which lowers the peaks of some voices
// by 1 dB.
func gainFor(pcm []byte, rate int) float64 {
	gain := loudness.Target - loudnesstest.Of(pcm, rate)
	for range corrections {
		if math.IsInf(gain, 0) {
			break
		}
		chain := mastering.New(rate, mastering.Settings{Gain: gain})
		heard := append(chain.Process(pcm), chain.Flush()...)
		gain += loudness.Target - loudnesstest.Of(heard, rate)
	}
	return gain
}

// calibrationText returns the text for calibrating an engine in a language: the first article of the Universal
// Declaration of Human Rights (with more sentences where it is not typical) in that language or one with the same
// spelling, or else numbers, which every language reads in its own words.
func calibrationText(language string) (text string, numbers bool) {
	texts, alike := textsOf("calibration.tsv"), textsOf("alike.tsv")
	family, _, _ := strings.Cut(language, "-")
	for _, candidate := range []string{language, alike[family], family} {
		if text, ok := texts[candidate]; ok {
			return text, false
		}
	}
	return "1, 2, 3, 4, 5, 6, 7, 8, 9, 10. 12, 30, 45, 100, 238. 1976.", true
}
