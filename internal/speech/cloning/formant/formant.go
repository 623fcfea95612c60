// Package formant clones voices with the parameters of the formant synthesiser: fundamental frequency, pace, length of
// the vocal tract, breath, and an equaliser that matches the long-term spectrum of the recordings. A clone has the
// voice's pitch and colour, and the synthesiser's articulation and melody.
package formant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/acoustics"
	"github.com/recital-tts/recital/internal/speech/cloning"
)

// engineName changes when the content of analyses or models changes.
const engineName = "formant/1"

// leastSpeech is the minimum length of speech for a voice, in seconds.
const leastSpeech = 3.0

// Cloner implements cloning.Cloner.
type Cloner struct {
	engine    speech.Engine
	installed func() []speech.Voice // nil for none
}

var _ cloning.Cloner = (*Cloner)(nil)

// New returns a Cloner of voices for the first engine.
func New(engine speech.Engine) *Cloner { return &Cloner{engine: engine} }

// WithInstalled returns a cloner that may base voices on the installed ones, which voices returns.
func (c *Cloner) WithInstalled(voices func() []speech.Voice) *Cloner {
	return &Cloner{engine: c.engine, installed: voices}
}

// Engine implements cloning.Cloner.
func (c *Cloner) Engine() string { return engineName }

// measured is the content of an analysis.
type measured struct {
	Statistics acoustics.Statistics `json:"statistics"`
	Bandwidth  float64              `json:"bandwidth"` // Hz
	SNR        float64              `json:"snr"`       // dB
}

// Analyse implements cloning.Cloner.
func (c *Cloner) Analyse(
	ctx context.Context, recording cloning.Recording, options cloning.Options,
) (cloning.Analysis, error) {
	analyser := acoustics.New(acoustics.Config{Rate: recording.Rate, Enhance: options.Enhance, Filter: options.Filter})
	piece := make([]byte, 64<<10)
	for {
		n, err := recording.PCM.Read(piece)
		_, _ = analyser.Write(piece[:n]) // never fails
		if errors.Is(err, io.EOF) {
			break
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return cloning.Analysis{}, fmt.Errorf("reading a recording: %w", err)
		}
	}
	report, statistics := analyser.Finish()
	data, err := json.Marshal(measured{Statistics: statistics, Bandwidth: report.Bandwidth, SNR: report.SNR})
	if err != nil {
		return cloning.Analysis{}, fmt.Errorf("encoding an analysis: %w", err)
	}
	return cloning.Analysis{Report: reportOf(report, statistics), Data: data}, nil
}

func reportOf(r acoustics.Report, s acoustics.Statistics) cloning.Report {
	report := cloning.Report{
		Seconds: r.Seconds, SpeechSeconds: s.Speech, Dropped: r.Dropped, SNR: r.SNR, NoiseBefore: r.Noise,
		NoiseAfter: r.NoiseAfter,
		Clipped:    r.Clipped, Bandwidth: r.Bandwidth, Pitch: s.PitchQuantile(0.5), Pace: s.Pace(),
	}
	report.PitchRange = semitones(s.PitchQuantile(0.9), s.PitchQuantile(0.1))
	return report
}

// read returns the sum of analyses.
func read(analyses []cloning.Analysis) (measured, error) {
	var all measured
	for _, analysis := range analyses {
		var one measured
		if err := decode(analysis.Data, cloning.MaxAnalysisBytes, &one); err != nil {
			return measured{}, fmt.Errorf("reading an analysis: %w", err)
		}
		if one.Statistics.Speech <= 0 {
			continue
		}
		if all.Statistics.Speech == 0 || one.Bandwidth < all.Bandwidth {
			all.Bandwidth = one.Bandwidth
		}
		if all.Statistics.Speech == 0 || one.SNR < all.SNR {
			all.SNR = one.SNR
		}
		all.Statistics.Add(one.Statistics)
	}
	return all, nil
}

// model is the content of a model.
type model struct {
	Variant string        `json:"variant"`
	Timbre  speech.Timbre `json:"timbre"`
	// The installed voice that is modified, nil for none. The variant speaks in its place where it cannot.
	Installed *speech.Installed `json:"installed,omitempty"`
}

// Open implements cloning.Cloner.
func (c *Cloner) Open(kept cloning.Model) (speech.Voice, error) {
	if kept.Engine != engineName {
		return speech.Voice{}, errors.New("the model is of another engine")
	}
	var m model
	if err := decode(kept.Data, cloning.MaxModelBytes, &m); err != nil {
		return speech.Voice{}, fmt.Errorf("reading a model: %w", err)
	}
	if !isNatural(m.Variant) || !m.Timbre.Valid() || m.Installed != nil && !m.Installed.IsClone() {
		return speech.Voice{}, errors.New("the model is out of range")
	}
	return speech.Voice{Variant: m.Variant, Timbre: &m.Timbre, Installed: m.Installed}, nil
}

func decode(data []byte, most int, into any) error {
	if len(data) > most {
		return errors.New("it is too large")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	return nil
}
