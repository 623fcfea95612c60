package installed

import (
	"cmp"
	"context"
	_ "embed"
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

// maxDifference is the maximum difference of a voice from the whole model from which its parts were cut, in decibels.
// It is inaudible; the rounding of correct parts is below -100.
const maxDifference = -60

// checkTimeout bounds the time for a check, which also loads the whole model. Models that need a second of a processor
// for a second of speech take a minute on an idle machine.
const checkTimeout = 10 * time.Minute

// Measure loads a voice and makes it speak. The error describes its flaw.
func (e *Engines) Measure(ctx context.Context, v voicepack.Voice) (m voicepack.Measured, err error) {
	if !e.HasRuntime() {
		return voicepack.Measured{}, voicepack.ErrNoRuntime
	}
	language := v.Languages[0]
	texts := sentencesIn(language)
	checked, err := e.check(ctx, v, e.spoken(ctx, language, texts))
	if err != nil {
		return voicepack.Measured{}, fmt.Errorf("checking a voice: %w", err)
	}
	pool, err := e.pool(v, 1)
	if err != nil {
		return voicepack.Measured{}, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	engine := speech.WithFrontEnd(pool, e.config.Japanese)
	meter := loudness.NewMeter(pool.SampleRate())
	analyser := acoustics.New(acoustics.Config{Rate: pool.SampleRate()})
	samples := 0
	for _, text := range enough(texts, checked.Cost) {
		job := speech.Job{
			Text: text, Voice: speech.Voice{Variant: filepath.Base(v.Folder)}, Language: language, Speed: 1,
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

// enough returns the sentences with which a voice of this cost is measured. They are fewer for a slow voice, so that a
// busy machine installs it within the time of a request, too.
func enough(sentences []string, cost float64) []string {
	const slow, few = 0.5, 6
	if cost < slow {
		return sentences
	}
	return sentences[:few]
}

// check asks a process of the voice whether it knows all symbols, and whether its parts equal the whole model.
func (e *Engines) check(
	ctx context.Context, v voicepack.Voice, sentences engineproto.Sentences,
) (engineproto.Checked, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	checked, err := ask(ctx, e.command(v), sentences)
	if ctx.Err() != nil {
		return engineproto.Checked{}, errors.New("it took too long, or was given up")
	}
	if err == nil && checked.Difference > maxDifference {
		err = fmt.Errorf("its parts do not give the samples of the whole model: they differ by %.0f dB", checked.Difference)
	}
	return checked, err
}

// ask starts a process, sends it the request and returns its answer.
func ask(ctx context.Context, command workers.Command, what engineproto.Sentences) (engineproto.Checked, error) {
	process, _, err := engineproto.Start(ctx, command)
	if err != nil {
		return engineproto.Checked{}, err
	}
	defer process.End()
	defer context.AfterFunc(ctx, process.Kill)()
	if err := process.In.WriteJSON(engineproto.KindCheck, what); err != nil {
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

// spoken returns the spoken form of texts by the front end, and its language.
func (e *Engines) spoken(ctx context.Context, language string, texts []string) engineproto.Sentences {
	heard := listening{Sentences: engineproto.Sentences{Language: language}}
	engine := speech.WithFrontEnd(&heard, e.config.Japanese)
	for _, text := range texts {
		_, _ = engine.Speak(ctx, speech.Job{Text: text, Language: language, Speed: 1}) // never speaks
	}
	return heard.Sentences
}

// listening is an engine that records its texts.
type listening struct {
	speech.Engine
	engineproto.Sentences
}

// Speak implements speech.Engine.
func (l *listening) Speak(_ context.Context, job speech.Job) (speech.Utterance, error) {
	l.Texts = append(l.Texts, job.Text)
	if len(job.Phrases) > 0 {
		l.Language = cmp.Or(job.Phrases[0].Language, l.Language)
	}
	return nil, speech.ErrRefused
}

// sentenceTable has a line for each language with sentences of its own for measuring: the language, and the sentences.
// Other languages use the sentences with which clones are made.
//
//go:embed sentences.tsv
var sentenceTable string

// sentencesIn returns the sentences with which a voice of a language is measured: of the language if there are any,
// otherwise English ones.
func sentencesIn(language string) (english []string) {
	base, _, _ := strings.Cut(language, "-")
	for line := range strings.Lines(sentenceTable) {
		switch cells := strings.Split(strings.TrimSpace(line), "\t"); cells[0] {
		case base:
			return cells[1:]
		case "en":
			english = cells[1:]
		}
	}
	if own := formant.Sentences(language); own != nil {
		return own
	}
	return english
}
