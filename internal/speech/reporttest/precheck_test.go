package reporttest

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/acoustics"
	"github.com/recital-tts/recital/internal/speech/acoustics/acousticstest"
	"github.com/recital-tts/recital/internal/speech/precheck/classic"
)

// reportPrecheck prints what the precheck finds in recordings whose noise and bounds are known: sentences that both
// engines speak, with silence before and after them, in several noises.
func (t *tools) reportPrecheck(ctx context.Context) error {
	var all []acousticstest.Utterance
	for _, engine := range []speech.Engine{t.first, t.second} {
		spoken, err := acousticstest.Speak(ctx, engine, speech.Voices())
		if err != nil {
			return err
		}
		all = append(all, spoken...)
	}
	fmt.Printf("%d utterances of %d voices in two engines; ratios in dB, errors in ms\n", len(all), len(speech.Voices()))
	table := newTable()
	fmt.Fprintf(table, "noise\tratio\testimated\tdnsmos\tleast\tmost\tbandwidth\tstart median\t95 %%\tmost\tend "+
		"median\t95 %%\tmost\t\n")
	printPrecheckRow(table, "none", math.Inf(1), all, func(u acousticstest.Utterance) []int16 { return u.Samples })
	for _, noise := range acousticstest.Noises() {
		for _, ratio := range []float64{30, 20, 15, 10, 5} {
			printPrecheckRow(table, string(noise), ratio, all, func(u acousticstest.Utterance) []int16 {
				return acousticstest.Add(u.Samples, u.Rate, noise, ratio, acousticstest.Others(all, u))
			})
		}
	}
	return table.Flush()
}

func printPrecheckRow(table io.Writer, noise string, ratio float64, all []acousticstest.Utterance,
	recorded func(acousticstest.Utterance) []int16) {
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
	fmt.Fprintf(table, "%s\t%.0f\t%.1f\t%.2f\t%.2f\t%.2f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t\n", noise, ratio,
		quantile(ratios, 0.5),
		quantile(scores, 0.5), scores[0], quantile(scores, 1), quantile(bandwidths, 0.5), quantile(starts, 0.5),
		quantile(starts, 0.95), quantile(starts, 1),
		quantile(ends, 0.5), quantile(ends, 0.95), quantile(ends, 1))
}
