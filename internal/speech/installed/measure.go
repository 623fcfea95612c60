package installed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/acoustics"
	"github.com/recital-tts/recital/internal/speech/cloning/formant"
	"github.com/recital-tts/recital/internal/speech/engineproto"
	"github.com/recital-tts/recital/internal/speech/loudness"
	"github.com/recital-tts/recital/internal/speech/voicepack"
)

// maxDifference is how far a voice may be from the whole model from which its parts were cut, in decibels. It is not
// heard; what rounding makes of correct parts is below -100.
const maxDifference = -60

// checkTimeout bounds the time for a check, in which the whole model is loaded, too. Models that need a second of a
// processor for a second of speech take a minute on a machine that has time.
const checkTimeout = 10 * time.Minute

// Measure loads a voice and has it speak. The error says what is wrong with it.
func (e *Engines) Measure(ctx context.Context, v voicepack.Voice) (m voicepack.Measured, err error) {
	if !e.HasRuntime() {
		return voicepack.Measured{}, voicepack.ErrNoRuntime
	}
	checked, err := e.check(ctx, v)
	if err != nil {
		return voicepack.Measured{}, fmt.Errorf("checking a voice: %w", err)
	}
	pool, err := e.pool(v, 1)
	if err != nil {
		return voicepack.Measured{}, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	engine := speech.WithFrontEnd(pool, nil)
	meter := loudness.NewMeter(pool.SampleRate())
	analyser := acoustics.New(acoustics.Config{Rate: pool.SampleRate()})
	samples := 0
	for _, text := range enough(sentencesIn(v.Languages[0]), checked.Cost) {
		job := speech.Job{
			Text: text, Voice: speech.Voice{Variant: filepath.Base(v.Folder)}, Language: v.Languages[0], Speed: 1,
		}
		pcm, _, err := speech.Synthesise(ctx, engine, job)
		if errors.Is(err, speech.ErrEngineFailed) || errors.Is(err, speech.ErrRefused) {
			return voicepack.Measured{}, errors.New("measuring a voice: its process fails as it speaks")
		}
		if err != nil {
			return voicepack.Measured{}, fmt.Errorf("measuring a voice: %w", err)
		}
		samples += len(pcm) / 2
		meter.Add(pcm)
		_, _ = analyser.Write(pcm) // never fails
	}
	level := meter.Loudness()
	if samples == 0 || math.IsInf(level, 0) || math.IsNaN(level) {
		return voicepack.Measured{}, errors.New("measuring a voice: it says nothing")
	}
	_, statistics := analyser.Finish()
	sound, err := json.Marshal(statistics)
	if err != nil {
		return voicepack.Measured{}, fmt.Errorf("encoding what was measured of a voice: %w", err)
	}
	return voicepack.Measured{
		Gain:    max(-maxGain, min(maxGain, loudness.Target-level)),
		Cost:    checked.Cost,
		Missing: checked.Missing,
		Sound:   sound,
	}, nil
}

// enough returns as many of the sentences as a voice of a cost is measured with: a slow one with fewer, so that it is
// installed within the time of a request on a machine that has other work, too.
func enough(sentences []string, cost float64) []string {
	const slow, few = 0.5, 6
	if cost < slow {
		return sentences
	}
	return sentences[:few]
}

// check asks a process of the voice whether it knows all symbols, and whether its parts give what the whole model does.
func (e *Engines) check(ctx context.Context, v voicepack.Voice) (engineproto.Checked, error) {
	process, err := workers.Start(e.command(v))
	if err != nil {
		return engineproto.Checked{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, process.Kill)()
	defer end(process)
	checked, err := ask(process, engineproto.Sentences{Language: v.Languages[0], Texts: sentencesIn(v.Languages[0])})
	if ctx.Err() != nil {
		return engineproto.Checked{}, errors.New("it took too long, or was given up")
	}
	if err == nil && checked.Difference > maxDifference {
		err = fmt.Errorf("its parts do not give the samples of the whole model: they differ by %.0f dB", checked.Difference)
	}
	return checked, err
}

// end kills a process, and reads its output to the end, which closes it.
func end(process *workers.Process) {
	process.Kill()
	for {
		if _, err := process.Out.Read(); err != nil {
			return
		}
	}
}

// ask waits for the process's hello, and asks it.
func ask(process *workers.Process, what engineproto.Sentences) (engineproto.Checked, error) {
	hello, err := process.Out.Read()
	if err != nil {
		return engineproto.Checked{}, errors.New("its process ended as it was loaded")
	}
	if _, err := engineproto.ParseHello(hello); err != nil {
		return engineproto.Checked{}, err
	}
	question, err := engineproto.CheckFrame(what)
	if err != nil {
		return engineproto.Checked{}, err
	}
	if err := process.In.Write(question); err != nil {
		return engineproto.Checked{}, fmt.Errorf("asking its process: %w", err)
	}
	answer, err := process.Out.Read()
	if err != nil {
		return engineproto.Checked{}, errors.New("its process ended as it was checked")
	}
	return engineproto.ParseChecked(answer)
}

// maxGain bounds the gain of a voice in dB.
const maxGain = 24

// sentencesIn returns what a voice of a language is measured with: sentences of the language, where there are any.
func sentencesIn(language string) []string {
	if own := formant.Sentences(language); own != nil && !strings.HasPrefix(language, "en") {
		return own
	}
	return sentences()
}

// sentences are those in English.
func sentences() []string {
	return []string{
		"The train to the coast leaves at a quarter past nine.", "Could you tell me where the library is?",
		"She put the letter back into the drawer.", "Rain is expected in the north by the evening.",
		"Nobody had seen the old map for years.", "We need three eggs, some flour and a little butter.",
		"He laughed, and the whole room laughed with him.", "What a lovely garden you have!",
		"The museum is closed on Mondays.", "Turn left at the bridge, and follow the river.",
		"My brother works as a nurse in a small town.", "It was the first warm day of the year.",
		"Please keep your ticket until the end of the journey.", "The answer was shorter than the question.",
		"A black cat slept on the roof of the car.", "They painted the kitchen yellow last summer.",
		"Is there anything else that I can do for you?", "The meeting starts in ten minutes.",
		"Children were playing in the street below.", "Thank you for calling, and have a good day.",
	}
}
