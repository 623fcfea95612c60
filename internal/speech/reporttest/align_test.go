package reporttest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"text/tabwriter"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/alignment"
	"github.com/recital-tts/recital/internal/speech/alignment/rendered"
)

// reportAlignment prints the distances of aligned words from their true places. It aligns sentences of flite, with
// known times, with the rendering of espeak-ng, and rows of prompts spoken by a person, with the known start and end of
// each prompt. The held-out sentences and voices were never used in the development of the alignment.
func (t *tools) reportAlignment(ctx context.Context) error {
	for _, set := range []struct {
		name, sentences string
		voices          []string
	}{
		{"utterances", "sentences.txt", []string{"leah", "zeke", "ansel", "elowen"}}, // flite's, and a modified one
		{"held-out utterances", "heldout.txt", []string{"amy", "morgan", "lily", "curtis"}},
	} {
		recordings, err := record(ctx, t.second, set.voices, linesOf(set.sentences))
		if err != nil {
			return err
		}
		if err := printAlignment(ctx, t.first, set.name, recordings); err != nil {
			return err
		}
	}
	prompts, err := joinedPrompts(ctx, t.first, *root)
	if err != nil {
		fmt.Printf("no prompts of a person: %v\n", err)
		return nil
	}
	return printAlignment(ctx, t.first,
		"rows of prompts that a person has spoken (the first and last words of each prompt)", prompts)
}

func printAlignment(ctx context.Context, engine speech.Engine, name string, recordings []recording) error {
	table := newTable()
	fmt.Printf("%d %s; errors in ms, shares in %%\n", len(recordings), name)
	fmt.Fprintf(table, "noise\twords\tstart mean\tmedian\t95 %%\twithin 20\t50\t100\t200\tend median\t95 %%\t\n")
	for _, noise := range []float64{math.Inf(1), 20, 10} {
		starts, ends, err := errorsOf(ctx, engine, recordings, noise)
		if err != nil {
			return err
		}
		printAlignmentRow(table, noise, starts, ends)
	}
	return table.Flush()
}

// recording is an utterance with the true places of its words, as far as they are known.
type recording struct {
	text  string
	truth alignment.Reference
}

// unknown stands for an unknown place.
const unknown = -1

func record(ctx context.Context, flite speech.Engine, voices, sentences []string) (all []recording, err error) {
	for _, id := range voices {
		voice, err := new(speech.Catalogue).Find(id)
		if err != nil {
			return nil, err
		}
		for _, text := range sentences {
			truth, err := rendered.RenderAs(ctx, flite, speech.Job{Voice: voice, Language: "en-us", Speed: 1}, text)
			if err != nil {
				return nil, err
			}
			all = append(all, recording{text, truth})
		}
	}
	return all, nil
}

func errorsOf(
	ctx context.Context, engine speech.Engine, recordings []recording, noise float64,
) (starts, ends []float64, err error) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, r := range recordings {
		sound := withNoise(r.truth.Sound, noise, random)
		words, err := rendered.AlignSound(ctx, engine, sound, r.text, speech.AutoLanguage)
		if err != nil {
			return nil, nil, err
		}
		if len(words) != len(r.truth.Words) {
			return nil, nil, fmt.Errorf("%d words were found in %q, which has %d", len(words), r.text, len(r.truth.Words))
		}
		for i, word := range words {
			if truth := r.truth.Words[i].Start; truth != unknown {
				starts = append(starts, 1000*math.Abs(word.Start-truth))
			}
			if truth := r.truth.Words[i].End; truth != unknown {
				ends = append(ends, 1000*math.Abs(word.End-truth))
			}
		}
	}
	return starts, ends, nil
}

// withNoise adds white noise at a ratio in dB.
func withNoise(sound alignment.Sound, ratio float64, random *rand.Rand) alignment.Sound {
	power := 0.0
	for _, sample := range sound.Samples {
		power += float64(sample) * float64(sample) / float64(len(sound.Samples))
	}
	noisy := alignment.Sound{Rate: sound.Rate, Samples: slices.Clone(sound.Samples)}
	amplitude := math.Sqrt(power / math.Pow(10, ratio/10))
	for i, sample := range noisy.Samples {
		changed := float64(sample) + amplitude*random.NormFloat64()
		noisy.Samples[i] = int16(min(max(changed, math.MinInt16), math.MaxInt16))
	}
	return noisy
}

func printAlignmentRow(table *tabwriter.Writer, noise float64, starts, ends []float64) {
	ratio := "none"
	if !math.IsInf(noise, 1) {
		ratio = fmt.Sprintf("%.0f dB", noise)
	}
	slices.Sort(starts)
	slices.Sort(ends)
	fmt.Fprintf(table, "%s\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t\n", ratio, len(starts),
		mean(starts), quantile(starts, 0.5), quantile(starts, 0.95), share(starts, 20), share(starts, 50), share(starts, 100),
		share(starts, 200), quantile(ends, 0.5), quantile(ends, 0.95))
}

func mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v / float64(len(values))
	}
	return sum
}

func share(values []float64, below float64) float64 {
	n := 0
	for _, v := range values {
		if v <= below {
			n++
		}
	}
	return 100 * float64(n) / float64(len(values))
}
