// Accuracytest prints how far the words that alignment finds are from where they are: sentences that flite speaks, whose times
// it knows, are aligned with the rendering of another engine, espeak-ng; and prompts that a person has spoken, several in a
// row, of which is known where each begins and ends.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/alignment"
	"github.com/recital-tts/recital/internal/speech/alignment/rendered"
	"github.com/recital-tts/recital/internal/speech/worker"
)

func sentences() []string {
	return []string{
		"The quick brown fox jumps over the lazy dog while seven wizards watch from the old stone wall.",
		"Please call me back tomorrow morning, because the meeting has been moved to half past nine.",
		"She sells fresh bread, cheese and honey at the small market near the river every Saturday.",
		"A long time ago, in a quiet village by the sea, there lived a fisherman and his daughter.",
		"If you are not sure which train to take, ask the man in the blue uniform at platform two.",
		"Our new office opens in March, and everybody who works on the project is invited to come.",
		"The weather will be cold and windy, with some rain in the north and sunshine in the south.",
		"He closed the door, took off his coat, and sat down beside the fire without saying a word.",
		"Children learn to read more easily when someone reads aloud to them for a few minutes each day.",
		"Turn left after the bridge, drive straight on for two miles, and you will see the house.",
		"Nobody knew why the lights went out, but the music kept playing until the early morning.",
		"Modern telescopes collect so much data that no human being could ever look at all of it.",
	}
}

// voices are one of each of flite's voices, and a fourth that is made from the first.
func voices() []string { return []string{"leah", "zeke", "ansel", "elowen"} }

// heldOut are sentences, and otherVoices voices, that were never listened to while the alignment was made.
func heldOut() []string {
	return []string{
		"Our guests arrived late because heavy traffic had blocked the road to the airport.",
		"Put the eggs into boiling water and take them out again after seven minutes.",
		"Twenty students from five countries built this robot during their summer holidays.",
		"I would rather walk home than wait another hour for the bus in this rain.",
		"Her grandfather repaired watches in a tiny shop behind the central station.",
		"Although the test was difficult, most of them finished it before the bell rang.",
		"Keep your ticket until you leave, since an inspector may ask you to show it.",
		"Scientists think that whales learn their songs from each other on long journeys.",
		"The mayor thanked everybody who had helped to clean the park last Sunday.",
		"When the film was over, nobody spoke, and some people wiped their eyes.",
		"Change the oil, check the brakes, and fill the tank before you drive north.",
		"A good map, strong shoes and a little patience are all you really need.",
	}
}

func otherVoices() []string { return []string{"amy", "morgan", "lily", "curtis"} }

func main() {
	binary := flag.String("speechworker", "bin/speechworker", "the speechworker binary")
	root := flag.String("root", "/", "the folder below which Debian's packages of asterisk's prompts are unpacked")
	flag.Parse()
	if err := report(context.Background(), *binary, *root); err != nil {
		log.Fatal(err)
	}
}

func report(ctx context.Context, binary, root string) error {
	engine, err := worker.Open(worker.Config{Command: workers.Command{Path: binary, Args: []string{"engine"}}})
	if err != nil {
		return err
	}
	defer engine.Close()
	flite, err := worker.Open(worker.Config{Command: workers.Command{Path: binary, Args: []string{"flite"}}})
	if err != nil {
		return err
	}
	defer flite.Close()
	for _, set := range []struct {
		name              string
		voices, sentences []string
	}{{"utterances", voices(), sentences()}, {"held-out utterances", otherVoices(), heldOut()}} {
		recordings, err := record(ctx, flite, set.voices, set.sentences)
		if err != nil {
			return err
		}
		if err := printTable(ctx, engine, set.name, recordings); err != nil {
			return err
		}
	}
	prompts, err := joinedPrompts(ctx, engine, root)
	if err != nil {
		fmt.Printf("no prompts of a person: %v\n", err)
		return nil
	}
	return printTable(ctx, engine, "rows of prompts that a person has spoken (the first and last words of each prompt)", prompts)
}

func printTable(ctx context.Context, engine speech.Engine, name string, recordings []recording) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Printf("%d %s; errors in ms, shares in %%\n", len(recordings), name)
	fmt.Fprintf(table, "noise\tmethod\twords\tstart mean\tmedian\t95 %%\twithin 20\t50\t100\t200\tend median\t95 %%\t\n")
	for _, noise := range []float64{math.Inf(1), 20, 10} {
		for _, method := range []alignment.Method{alignment.Plain, alignment.Improved} {
			starts, ends, err := errorsOf(ctx, engine, recordings, noise, method)
			if err != nil {
				return err
			}
			printRow(table, noise, method, starts, ends)
		}
	}
	return table.Flush()
}

// recording is an utterance with the true places of its words, as far as they are known.
type recording struct {
	text  string
	truth alignment.Reference
}

// unknown is a place that nobody knows.
const unknown = -1

func record(ctx context.Context, flite speech.Engine, voices, sentences []string) (all []recording, err error) {
	for _, id := range voices {
		voice, err := speech.FindVoice(id)
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

func errorsOf(ctx context.Context, engine speech.Engine, recordings []recording, noise float64, method alignment.Method) (starts, ends []float64, err error) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, r := range recordings {
		sound := withNoise(r.truth.Sound, noise, random)
		words, err := rendered.AlignSound(ctx, engine, sound, r.text, method)
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

func printRow(table *tabwriter.Writer, noise float64, method alignment.Method, starts, ends []float64) {
	name := map[alignment.Method]string{alignment.Plain: "plain", alignment.Improved: "improved"}[method]
	ratio := "none"
	if !math.IsInf(noise, 1) {
		ratio = fmt.Sprintf("%.0f dB", noise)
	}
	slices.Sort(starts)
	slices.Sort(ends)
	fmt.Fprintf(table, "%s\t%s\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t\n", ratio, name, len(starts),
		mean(starts), quantile(starts, 0.5), quantile(starts, 0.95), share(starts, 20), share(starts, 50), share(starts, 100),
		share(starts, 200), quantile(ends, 0.5), quantile(ends, 0.95))
}

func mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v / float64(len(values))
	}
	return sum
}

func quantile(sorted []float64, part float64) float64 {
	return sorted[int(part*float64(len(sorted)-1))]
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
