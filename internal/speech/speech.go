// Package speech turns text into samples and word times. Engines are adapters that run in processes of their own
// (subpackage worker); this package has the port, the voices, the segmentation, and the mapping of engine events to
// the caller's text.
package speech

import (
	"context"
	"errors"
	"io"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/speech/ssml"
)

// Job is one segment for an engine.
type Job struct {
	Text      string  // valid UTF-8 without NUL
	Voice     Voice   // an allow-listed voice
	Language  string  // an allow-listed engine language, such as "en-us"
	Speed     float64 // 1 is the voice's own pace; MinSpeed to MaxSpeed
	First     bool    // the first segment of a stream: it overtakes later segments of others
	NoPause   bool    // no pause follows: the stream ends here, or its sentence continues in the next segment
	Continues bool    // the sentence continues in the next segment
	Phonemes  bool    // Marks includes phonemes, if the engine reports them
	Careful   bool    // an engine died of this job: first find out which parts it can synthesise
	// Faint is the sample value below which the end of a phrase counts as its pause; 0 leaves it to the engine.
	Faint int

	// Phrases describe how the parts of the text are spoken, in order. Without any, the voice speaks in its own way. Each
	// phrase ends like a clause. Their code points add up to the text's.
	Phrases []Phrase
	// Raised is the part of the phrases' pitch that markup asks for, in semitones. An engine that does not know the pitch
	// of phrases is moved by it.
	Raised float64
	// Readings are the parts of the text with a given reading, in order. They are used only by the front end.
	Readings []Reading
	// Sounds are the parts of the text that are in the International Phonetic Alphabet, in order. The front end sets them.
	Sounds []Sound
}

// Sound is a part of a job's text that consists of phonemes.
type Sound struct {
	Start int `json:"start"` // code points of the text before it
	Runes int `json:"runes"` // code points
}

// Reading is the reading of a part of a job's text: another text, phonemes, or a class that decides.
type Reading struct {
	Start, End int // byte offsets
	Alias      string
	IPA        string // phonemes
	Class      ssml.Class
	Format     string // see ssml.Run
	Language   string // an engine language of the spoken text; "" means the job's
}

// Pace returns the job's speed relative to the engine's own.
func (j Job) Pace() float64 {
	if j.Voice.Timbre == nil {
		return j.Speed
	}
	return j.Speed * j.Voice.Timbre.Pace
}

// Phrase describes the delivery of a part of a job's text. The engine approximates it as closely as it can.
type Phrase struct {
	Runes int     `json:"runes"` // code points of the text
	Pitch float64 `json:"pitch"` // semitones above the voice's own; -MaxPitch to MaxPitch
	Range float64 `json:"range"` // of the intonation: 0 is monotone, 1 the voice's own; up to MaxRange
	Rate  float64 `json:"rate"`  // a factor on the job's speed; MinRate to MaxRate
	Gain  float64 `json:"gain"`  // loudness in decibels above the voice's own; -MaxGain to MaxGain
	Gap   float64 `json:"gap"`   // seconds of silence between its words, in addition to the usual; 0 to MaxGap
	// Seconds of silence after it at speed 1, at most MaxPause; OwnPause means the pause of its punctuation.
	Pause float64 `json:"pause"`
	// A factor on the usual pause of its punctuation, from which the front end computes Pause; 0 means 1.
	Pauses   float64 `json:"-"`
	Question bool    `json:"question,omitempty"` // it ends a yes-or-no question
	Language string  `json:"language,omitempty"` // an engine language; "" means the job's. An engine may know only one.
}

// OwnPause leaves the pause after a phrase to the engine.
const OwnPause = -1

// Limits of phrases.
const (
	MaxPitch = 12.0
	MaxRange = 2.0
	MinRate  = 0.8
	MaxRate  = 1.25
	MaxGain  = 4.0
	MaxGap   = 0.1
	MaxPause = 2.0
)

// OwnPhrase returns a phrase in the voice's own way.
func OwnPhrase(runes int) Phrase {
	return Phrase{Runes: runes, Range: 1, Rate: 1, Pause: OwnPause}
}

// Valid reports whether the phrase is within the limits.
func (p Phrase) Valid() bool {
	return p.Runes >= 0 && within(p.Pitch, -MaxPitch, MaxPitch) && within(p.Range, 0, MaxRange) &&
		within(p.Rate, MinRate, MaxRate) && within(p.Gain, -MaxGain, MaxGain) && within(p.Gap, 0, MaxGap) &&
		(p.Pause == OwnPause || within(p.Pause, 0, MaxPause))
}

// within reports whether a value is between two limits. It is false for NaN.
func within(value, least, most float64) bool { return value >= least && value <= most }

// Limits of Job.Speed.
const (
	MinSpeed = 0.25
	MaxSpeed = 2.0
)

// Engine synthesises segments. It is safe for concurrent use.
type Engine interface {
	// SampleRate returns the rate of the samples in Hz.
	SampleRate() int
	// Speak starts a job, waiting for a free worker until ctx ends. The samples are buffered as they arrive, so that
	// a slow reader occupies no worker. The job is cancelled when ctx ends.
	Speak(ctx context.Context, job Job) (Utterance, error)
}

// Utterance is the speech of one job.
type Utterance interface {
	// Next returns the next samples as they arrive (signed 16-bit little-endian, one channel), and io.EOF at the end.
	// If the worker died, it returns ErrEngineFailed (wrapped).
	Next(ctx context.Context) ([]byte, error)
	// Marks returns the positions at which words start and pauses begin, in order. It is complete once Next has returned
	// io.EOF.
	Marks() []Mark
	// Close cancels the rest of the job.
	Close()
}

// Synthesise returns all samples and marks of a job.
func Synthesise(ctx context.Context, engine Engine, job Job) (pcm []byte, marks []Mark, err error) {
	utterance, err := engine.Speak(ctx, job)
	if err != nil {
		return nil, nil, err
	}
	defer utterance.Close()
	for {
		part, err := utterance.Next(ctx)
		pcm = append(pcm, part...)
		if err != nil {
			return pcm, utterance.Marks(), ignoreEOF(err)
		}
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Mark is the sample at which a word of the job's text, a pause or a phoneme starts.
type Mark struct {
	Rune    int    // index of the word's first character in the job's text, in code points, as the engine reports it
	Sample  int    // samples since the start of the job
	Silence bool   // a pause begins here; Rune is meaningless
	Phoneme string // the engine's name of the phoneme that starts here; Rune is meaningless
}

// Timing is one element of the caller's text (a word, white space or punctuation) with its position in the audio. A
// list of timings begins and ends with the empty text, which stands for silence; the concatenated texts are the
// input.
type Timing struct {
	Text     string  `json:"text" doc:"A word, white space or punctuation; empty for the silence at the start and the end."`
	Start    float64 `json:"start" doc:"Seconds from the start of the audio."`
	Duration float64 `json:"duration" doc:"The duration in seconds."`
}

// Errors of engines, in the form that clients see.
var (
	// ErrEngineFailed means that an engine's worker died, stalled or broke its protocol in the middle of a job. The job's
	// text may be the cause, so a retry does not always help.
	ErrEngineFailed = domain.Refuse(domain.Unavailable, "The speech engine failed")
	// ErrRefused means that the engine does not accept the job as it is; a retry never helps.
	ErrRefused = domain.Refuse(domain.Invalid, "The speech engine refuses the text")
	// ErrTooMuchAudio means that the audio of one segment exceeded the memory limit.
	ErrTooMuchAudio = domain.Refuse(domain.Invalid, "A segment of the text gives more audio than is permitted")
	// ErrEngineBusy means that an installed voice already speaks as many streams as this machine can handle.
	ErrEngineBusy = domain.Refuse(domain.Unavailable, "The voice speaks as much as it can at the moment")
	// ErrEngineClosed means that the engine is shut down.
	ErrEngineClosed = domain.Refuse(domain.Unavailable, "The speech engine is shut down")
)
