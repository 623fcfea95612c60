// Package speech turns text into samples and word times. Engines are adapters in processes of their own
// (subpackage worker); this package holds the port, the voices, segmentation and the mapping of engine events to the
// caller's own text.
package speech

import "context"

// Job is one segment for an engine.
type Job struct {
	Text     string  // valid UTF-8 without NUL
	Voice    Voice   // an allow-listed voice
	Language string  // an allow-listed engine language, such as "en-us"
	Speed    float64 // 1 is the voice's own pace; MinSpeed to MaxSpeed
	First    bool    // the first segment of a stream: it overtakes later segments of others
	NoPause  bool    // no pause follows: the stream ends here, or its sentence goes on in the next segment
}

// The limits of Job.Speed.
const (
	MinSpeed = 0.25
	MaxSpeed = 2.0
)

// Engine synthesises segments. It is safe for concurrent use.
type Engine interface {
	// SampleRate of the samples in Hz.
	SampleRate() int
	// Speak starts a job, waiting for a free worker as long as ctx allows. The samples are buffered as they come,
	// so that a slow reader holds no worker. The job is given up when ctx ends.
	Speak(ctx context.Context, job Job) (Utterance, error)
}

// Utterance is the speech of one job.
type Utterance interface {
	// Next gives the next samples as they come (signed 16-bit little-endian, one channel), and io.EOF at the end.
	// When the worker died it returns ErrEngineFailed (wrapped).
	Next(ctx context.Context) ([]byte, error)
	// Marks are where words start and where the engine falls silent, in order; complete once Next has returned
	// io.EOF.
	Marks() []Mark
	// Close gives up what was not read.
	Close()
}

// Mark says that the engine starts a word of the job's text at a sample, or falls silent there.
type Mark struct {
	Rune    int  // index of the word's first character in the job's text, in code points, as the engine reports it
	Sample  int  // samples since the start of the job
	Silence bool // the word before ends here and a pause begins; Rune has no meaning
}

// Timing is one element of the caller's own text (a word, white space or punctuation) with its place in the audio.
// A list of timings begins and ends with the empty text, which stands for silence; the texts joined are the input.
type Timing struct {
	Text     string  `json:"text"`
	Start    float64 `json:"start"`    // seconds
	Duration float64 `json:"duration"` // seconds
}
