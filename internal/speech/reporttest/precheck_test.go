package reporttest

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/acoustics"
	"github.com/recital-tts/recital/internal/speech/acoustics/acousticstest"
	"github.com/recital-tts/recital/internal/speech/precheck/classic"
)

// reportPrecheck prints the results of the precheck for recordings with known noise and bounds: sentences of both
// engines, with silence before and after them, in several noises.
func (t *tools) reportPrecheck(ctx context.Context) error {
	all, err := t.utterances(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%d utterances of two engines; ratios in dB, errors in ms\n", len(all))
	table := newTable()
	fmt.Fprintf(table, "noise\tratio\testimated\tdnsmos\tleast\tmost\tbandwidth\tstart median\t95 %%\tmost\tend "+
		"median\t95 %%\tmost\toff by > 100\tscored higher\t\n")
	before := checkAll(all, func(u acousticstest.Utterance) []int16 { return u.Samples })
	fmt.Fprintln(table, precheckRow("none", math.Inf(1), before, before))
	for _, noise := range acousticstest.Noises() {
		louder := before
		for _, ratio := range []float64{30, 20, 15, 10, 5} {
			checked := checkAll(all, func(u acousticstest.Utterance) []int16 {
				return acousticstest.Add(u.Samples, u.Rate, noise, ratio, acousticstest.Others(all, u))
			})
			fmt.Fprintln(table, precheckRow(string(noise), ratio, checked, louder))
			fmt.Fprintf(os.Stderr, "%s at %.0f dB is measured\n", noise, ratio)
			louder = checked
		}
	}
	return table.Flush()
}

func (t *tools) utterances(ctx context.Context) (all []acousticstest.Utterance, err error) {
	for _, engine := range []speech.Engine{t.first, t.second} {
		spoken, err := acousticstest.Speak(ctx, engine, speech.Voices())
		if err != nil {
			return nil, err
		}
		all = append(all, spoken...)
	}
	return all, nil
}

// checked is the result of the precheck for one recording, with its errors.
type checked struct {
	acoustics.Report
	score, start, end float64
}

func checkAll(all []acousticstest.Utterance, recorded func(acousticstest.Utterance) []int16) []checked {
	found := make([]checked, len(all))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, u := range all {
		group.Go(func() error {
			r, _ := acousticstest.Analyse(recorded(u), acoustics.Config{Rate: u.Rate})
			found[i] = checked{r, classic.Score(r), 1000 * math.Abs(r.Start-u.Start), 1000 * math.Abs(r.End-u.End)}
			return nil
		})
	}
	_ = group.Wait() // it has no errors
	return found
}

func precheckRow(noise string, ratio float64, found, louder []checked) string {
	figures := func(of func(checked) float64) (sorted []float64) {
		for _, c := range found {
			sorted = append(sorted, of(c))
		}
		slices.Sort(sorted)
		return sorted
	}
	off, higher := 0, 0
	for i, c := range found {
		if c.start > 100 || c.end > 100 {
			off++
		}
		if c.score > louder[i].score {
			higher++
		}
	}
	scores := figures(func(c checked) float64 { return c.score })
	row := fmt.Sprintf("%s\t%.0f\t%.1f\t%.2f\t%.2f\t%.2f\t%.0f\t", noise, ratio,
		quantile(figures(func(c checked) float64 { return c.SNR }), 0.5), quantile(scores, 0.5), scores[0],
		quantile(scores, 1), quantile(figures(func(c checked) float64 { return c.Bandwidth }), 0.5))
	for _, errors := range [][]float64{
		figures(func(c checked) float64 { return c.start }), figures(func(c checked) float64 { return c.end }),
	} {
		row += fmt.Sprintf("%.0f\t%.0f\t%.0f\t", quantile(errors, 0.5), quantile(errors, 0.95), quantile(errors, 1))
	}
	return row + fmt.Sprintf("%d\t%d\t", off, higher)
}
