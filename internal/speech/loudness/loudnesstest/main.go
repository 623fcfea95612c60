// Loudnesstest prints how loud the system voices are, in both engines and in several languages, of sentences with which
// nothing was calibrated. With -calibrate it measures the engines, and writes the gains that bring them to one loudness.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"math"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/loudness"
	"github.com/recital-tts/recital/internal/speech/worker"
)

func main() {
	binary := flag.String("speechworker", "bin/speechworker", "the speechworker binary")
	calibrate := flag.String("calibrate", "", "the file to write the gains to, in place of a report")
	flag.Parse()
	if err := run(context.Background(), *binary, *calibrate); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, binary, calibrate string) error {
	first, err := worker.Open(worker.Config{Command: workers.Command{Path: binary, Args: []string{"engine"}}})
	if err != nil {
		return err
	}
	defer first.Close()
	second, err := worker.Open(worker.Config{Command: workers.Command{Path: binary, Args: []string{"flite"}}})
	if err != nil {
		return err
	}
	defer second.Close()
	if calibrate != "" {
		return writeGains(ctx, calibrate, first, second)
	}
	return report(ctx, speech.NewSpeaker(first).WithSecondEngine(second))
}

// report prints a row for each language and engine, with the loudness of each voice.
func report(ctx context.Context, speaker *speech.Speaker) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "engine\tlanguage\t")
	for _, voice := range speech.Voices() {
		fmt.Fprint(table, voice.ID, "\t")
	}
	fmt.Fprint(table, "highest sample\t\n")
	texts := heldOut()
	farthest := 0.0
	for _, language := range slices.Sorted(maps.Keys(texts)) {
		for _, model := range models(language) {
			off, err := reportRow(ctx, table, speaker, speech.Request{Text: texts[language], Language: language, Model: model.name}, model.engine)
			if err != nil {
				return err
			}
			farthest = max(farthest, off)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Printf("in LUFS, with %.0f as the target: at most %.1f LU away from it\n", loudness.Target, farthest)
	return nil
}

type model struct{ name, engine string }

// models are one for each engine of a language.
func models(language string) []model {
	first := model{speech.ModelAurora, "espeak-ng"}
	if language == "en-us" {
		return []model{first, {speech.ModelBlizzard, "flite"}}
	}
	return []model{first}
}

// reportRow returns the largest distance from the target.
func reportRow(ctx context.Context, table io.Writer, speaker *speech.Speaker, r speech.Request, engine string) (farthest float64, err error) {
	fmt.Fprint(table, engine, "\t", r.Language, "\t")
	highest := 0
	for _, voice := range speech.Voices() {
		r.Voice = voice
		heard, err := listen(ctx, speaker, r)
		if err != nil {
			return 0, err
		}
		loud := loudness.Of(heard, speaker.SampleRate())
		fmt.Fprintf(table, "%.1f\t", loud)
		farthest, highest = max(farthest, math.Abs(loud-loudness.Target)), max(highest, loudness.Peak(heard))
	}
	fmt.Fprint(table, highest, "\t\n")
	return farthest, nil
}

// listen returns the samples of a whole stream.
func listen(ctx context.Context, speaker *speech.Speaker, r speech.Request) ([]byte, error) {
	stream := speaker.Speak(ctx, r)
	defer stream.Close()
	var heard []byte
	for {
		piece, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			return heard, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s in %s: %w", r.Voice.ID, r.Language, err)
		}
		heard = append(heard, piece.PCM...)
	}
}
