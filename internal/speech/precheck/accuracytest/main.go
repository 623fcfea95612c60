// Accuracytest prints what the precheck finds in recordings whose noise and bounds are known: sentences that both engines
// speak, with silence before and after them, in several noises.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/acoustics"
	"github.com/recital-tts/recital/internal/speech/acoustics/acousticstest"
	"github.com/recital-tts/recital/internal/speech/precheck/classic"
	"github.com/recital-tts/recital/internal/speech/worker"
)

func main() {
	binary := flag.String("speechworker", "bin/speechworker", "the speechworker binary")
	flag.Parse()
	if err := report(context.Background(), *binary); err != nil {
		log.Fatal(err)
	}
}

func report(ctx context.Context, binary string) error {
	var all []acousticstest.Utterance
	for _, mode := range []string{"engine", "flite"} {
		engine, err := worker.Open(worker.Config{Command: workers.Command{Path: binary, Args: []string{mode}}})
		if err != nil {
			return err
		}
		defer engine.Close()
		spoken, err := acousticstest.Speak(ctx, engine, speech.Voices())
		if err != nil {
			return err
		}
		all = append(all, spoken...)
	}
	fmt.Printf("%d utterances of %d voices in two engines; ratios in dB, errors in ms\n", len(all), len(speech.Voices()))
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "noise\tratio\testimated\tdnsmos\tleast\tmost\tbandwidth\tstart median\t95 %%\tmost\tend median\t95 %%\tmost\t\n")
	printRow(table, "none", math.Inf(1), all, func(u acousticstest.Utterance) []int16 { return u.Samples })
	for _, noise := range acousticstest.Noises() {
		for _, ratio := range []float64{30, 20, 15, 10, 5} {
			printRow(table, string(noise), ratio, all, func(u acousticstest.Utterance) []int16 {
				return acousticstest.Add(u.Samples, u.Rate, noise, ratio, acousticstest.Others(all, u))
			})
		}
	}
	return table.Flush()
}

func printRow(table *tabwriter.Writer, noise string, ratio float64, all []acousticstest.Utterance, recorded func(acousticstest.Utterance) []int16) {
	var ratios, scores, bandwidths, starts, ends []float64
	for _, u := range all {
		r, _ := acoustics.Analyse(recorded(u), acoustics.Config{Rate: u.Rate})
		ratios = append(ratios, r.SNR)
		scores = append(scores, classic.Score(r))
		bandwidths = append(bandwidths, r.Bandwidth)
		starts = append(starts, 1000*math.Abs(r.Start-u.Start))
		ends = append(ends, 1000*math.Abs(r.End-u.End))
	}
	for _, values := range [][]float64{ratios, scores, bandwidths, starts, ends} {
		slices.Sort(values)
	}
	part := func(sorted []float64, q float64) float64 { return sorted[int(q*float64(len(sorted)-1))] }
	fmt.Fprintf(table, "%s\t%.0f\t%.1f\t%.2f\t%.2f\t%.2f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t\n", noise, ratio, part(ratios, 0.5),
		part(scores, 0.5), scores[0], part(scores, 1), part(bandwidths, 0.5), part(starts, 0.5), part(starts, 0.95), part(starts, 1),
		part(ends, 0.5), part(ends, 0.95), part(ends, 1))
}
