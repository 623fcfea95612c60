// Package engineproto is the protocol between recitald and a speechworker in mode engine, over frames of package
// workers. The worker sends Hello once; then, one at a time, it receives a Job and answers with any number of Marks
// and Audio frames and one End, or with Refused. A worker that cannot finish a job exits.
package engineproto

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
)

// The kinds of frames.
const (
	KindHello byte = 'h' // from the worker: sample rate, uint32
	KindJob   byte = 'j' // to the worker: Job in JSON
	KindAudio byte = 'a' // from the worker: samples, signed 16-bit little-endian, one channel
	KindMarks byte = 'm' // from the worker: pairs of uint32, code point index (Silence for a pause) and sample
	// From the worker, if the job requests them: pairs of a sample, uint32, and a name of 8 bytes.
	KindPhonemes byte = 'p'
	// From a worker that transcribes: the code point index at which a phrase begins, uint32, and the phonemes of its next
	// clause in the International Phonetic Alphabet. The marks of its words follow, with meaningless samples.
	KindClause byte = 't'
	// To a worker that supports it: the job is abandoned. The worker ends it after any number of samples.
	KindGiveUp byte = 'g'
	// To a worker with a model: Sentences in JSON; from it: Checked in JSON.
	KindCheck   byte = 'c'
	KindEnd     byte = 'e' // from the worker: the number of samples sent, uint32
	KindRefused byte = 'r' // from the worker: why it refuses the job or cannot start, without content of the job
)

// Silence replaces the code point index of a mark at which a pause begins.
const Silence = 1<<32 - 1

// MaxTextBytes bounds a job's text, so that a job always fits into a pipe's buffer and writing it never blocks.
const MaxTextBytes = 8 << 10

// SlowestSpeed is the lowest speed that a worker accepts: 80 words per minute, the minimum of espeak-ng, of its normal
// 175. Slower speech is stretched.
const SlowestSpeed = 80.0 / 175

const markSize = 8

// maxPhrases bounds the phrases of a job.
const maxPhrases = 256

// Job is the part of a speech.Job that a worker needs.
type Job struct {
	Text     string          `json:"text"`
	Variant  string          `json:"variant"`
	Timbre   *speech.Timbre  `json:"timbre,omitempty"`
	Language string          `json:"language"`
	Speed    float64         `json:"speed"`
	NoPause  bool            `json:"no_pause,omitempty"`
	Careful  bool            `json:"careful,omitempty"`
	Phonemes bool            `json:"phonemes,omitempty"`
	Faint    int             `json:"faint,omitempty"`
	Phrases  []speech.Phrase `json:"phrases,omitempty"`
	Sounds   []speech.Sound  `json:"sounds,omitempty"`
}

// EngineSpeed returns the speed for the worker: no phrase is slower than it supports, and the job is not faster than it
// supports. Stretching does the rest.
func EngineSpeed(job speech.Job) float64 {
	slowest := 1.0
	for _, p := range job.Phrases {
		slowest = min(slowest, p.Rate)
	}
	return min(max(job.Pace(), SlowestSpeed/slowest), speech.MaxSpeed)
}

// Check returns an error if a number or a phrase of the job is invalid.
func (j Job) Check() error {
	if !(j.Speed >= SlowestSpeed && j.Speed <= speech.MaxSpeed) { // also refuses NaN
		return errors.New("the speed is out of range")
	}
	if len(j.Text) > MaxTextBytes {
		return errors.New("the text is too long")
	}
	if j.Timbre != nil && !j.Timbre.Valid() {
		return errors.New("the timbre is out of range")
	}
	if j.Faint < 0 || j.Faint > math.MaxInt16 {
		return errors.New("the faintest sample is out of range")
	}
	if len(j.Phrases) > maxPhrases {
		return errors.New("there are too many phrases")
	}
	runes := 0
	for _, p := range j.Phrases {
		if !p.Valid() {
			return errors.New("a phrase is out of range")
		}
		runes += p.Runes
	}
	if len(j.Phrases) > 0 && runes != utf8.RuneCountInString(j.Text) {
		return errors.New("the phrases are not as long as the text")
	}
	return j.checkSounds()
}

func (j Job) checkSounds() error {
	at := 0
	for _, s := range j.Sounds {
		if s.Start < at || s.Runes < 0 || s.Runes > MaxTextBytes || s.Start > MaxTextBytes {
			return errors.New("the sounds are not in order")
		}
		at = s.Start + s.Runes
	}
	if at > utf8.RuneCountInString(j.Text) {
		return errors.New("a sound is beyond the text")
	}
	return nil
}

// NewJob returns the part of a job for a worker.
func NewJob(job speech.Job) Job {
	return Job{
		Text: job.Text, Variant: job.Voice.Variant, Timbre: job.Voice.Timbre, Language: job.Language, Speed: EngineSpeed(job),
		NoPause: job.NoPause, Careful: job.Careful, Phonemes: job.Phonemes, Phrases: job.Phrases, Sounds: job.Sounds,
		Faint: job.Faint,
	}
}

// ParseJob returns the job of a frame, or an error if it is invalid.
func ParseJob(frame workers.Frame) (Job, error) {
	job, err := workers.ParseJSON[Job](frame, KindJob)
	return job, cmp.Or(err, job.Check())
}

// Refusal returns a frame with the reason why a worker refuses a job or cannot start.
func Refusal(why error) workers.Frame {
	return workers.Frame{Kind: KindRefused, Payload: []byte(why.Error())}
}

// Start starts a worker and waits for its hello until ctx ends. It returns the sample rate in Hz.
func Start(ctx context.Context, command workers.Command) (process *workers.Process, sampleRate int, err error) {
	process, err = workers.Start(command)
	if err != nil {
		return nil, 0, err
	}
	stop := context.AfterFunc(ctx, process.Kill)
	hello, err := process.Out.Read()
	switch {
	case !stop():
		err = context.Cause(ctx)
	case err != nil:
		process.End()
		err = process.Death()
	default:
		sampleRate, err = ParseHello(hello)
	}
	if err != nil {
		process.End()
		return nil, 0, err
	}
	return process, sampleRate, nil
}

// Serve sends a hello and then answers jobs until the input ends. It refuses jobs that are invalid or that prepare
// returns an error for. An error of answer means that a job could not be finished.
func Serve[T any](
	in io.Reader, out *workers.Writer, sampleRate int, prepare func(Job) (T, error), answer func(T) error,
) error {
	if err := out.Write(HelloFrame(sampleRate)); err != nil {
		return err
	}
	for reader := workers.NewReader(in); ; {
		frame, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading a job: %w", err)
		}
		var task T
		job, err := ParseJob(frame)
		if err == nil {
			task, err = prepare(job)
		}
		if err != nil {
			err = out.Write(Refusal(err))
		} else {
			err = answer(task)
		}
		if err != nil {
			return err
		}
	}
}

// HelloFrame returns a frame with the sample rate in Hz.
func HelloFrame(sampleRate int) workers.Frame {
	return workers.Frame{Kind: KindHello, Payload: binary.LittleEndian.AppendUint32(nil, uint32(sampleRate))}
}

// ParseHello returns the sample rate in Hz. A worker that cannot start sends the reason instead.
func ParseHello(frame workers.Frame) (int, error) {
	if frame.Kind == KindRefused {
		return 0, fmt.Errorf("the worker cannot start: %s", strings.ToValidUTF8(string(frame.Payload), ""))
	}
	if frame.Kind != KindHello || len(frame.Payload) != 4 {
		return 0, errors.New("the worker's first frame is no hello")
	}
	rate := binary.LittleEndian.Uint32(frame.Payload)
	if rate < 4000 || rate > 192000 {
		return 0, fmt.Errorf("a sample rate of %d Hz is not believable", rate)
	}
	return int(rate), nil
}

// MarksFrame returns a frame with marks.
func MarksFrame(marks []speech.Mark) workers.Frame {
	payload := make([]byte, 0, len(marks)*markSize)
	for _, m := range marks {
		index := uint32(m.Rune)
		if m.Silence {
			index = Silence
		}
		payload = binary.LittleEndian.AppendUint32(payload, index)
		payload = binary.LittleEndian.AppendUint32(payload, uint32(m.Sample))
	}
	return workers.Frame{Kind: KindMarks, Payload: payload}
}

// EndFrame returns a frame with the number of samples of the job.
func EndFrame(samples int) workers.Frame {
	return workers.Frame{Kind: KindEnd, Payload: binary.LittleEndian.AppendUint32(nil, uint32(samples))}
}

// ParseEnd returns the number of samples of the job.
func ParseEnd(frame workers.Frame) (int, error) {
	if frame.Kind != KindEnd || len(frame.Payload) != 4 {
		return 0, errors.New("the frame is no end")
	}
	return int(binary.LittleEndian.Uint32(frame.Payload)), nil
}

// ParseMarks returns the marks of a frame.
func ParseMarks(frame workers.Frame) ([]speech.Mark, error) {
	if frame.Kind != KindMarks || len(frame.Payload)%markSize != 0 {
		return nil, errors.New("the frame holds no marks")
	}
	marks := make([]speech.Mark, 0, len(frame.Payload)/markSize)
	for rest := frame.Payload; len(rest) > 0; rest = rest[markSize:] {
		index := binary.LittleEndian.Uint32(rest)
		mark := speech.Mark{Rune: int(index), Sample: int(binary.LittleEndian.Uint32(rest[4:]))}
		if index == Silence {
			mark.Rune, mark.Silence = 0, true
		}
		marks = append(marks, mark)
	}
	return marks, nil
}

const (
	phonemeName = 8 // bytes, filled up with NUL
	phonemeSize = 4 + phonemeName
)

// ParsePhonemes returns the phonemes of a frame. Names that are not UTF-8 are omitted.
func ParsePhonemes(frame workers.Frame) ([]speech.Mark, error) {
	if frame.Kind != KindPhonemes || len(frame.Payload)%phonemeSize != 0 {
		return nil, errors.New("the frame holds no phonemes")
	}
	marks := make([]speech.Mark, 0, len(frame.Payload)/phonemeSize)
	for rest := frame.Payload; len(rest) > 0; rest = rest[phonemeSize:] {
		name, _, _ := strings.Cut(string(rest[4:phonemeSize]), "\x00")
		if name != "" && utf8.ValidString(name) {
			marks = append(marks, speech.Mark{Phoneme: name, Sample: int(binary.LittleEndian.Uint32(rest))})
		}
	}
	return marks, nil
}

// Clause is a worker's transcription of a clause: phonemes with stress, words separated by spaces.
type Clause struct {
	Phrase int    // the code point index at which its phrase begins
	IPA    string // valid UTF-8
}

// ParseClause returns the clause of a frame.
func ParseClause(frame workers.Frame) (Clause, error) {
	if frame.Kind != KindClause || len(frame.Payload) < 4 {
		return Clause{}, errors.New("the frame holds no clause")
	}
	text := strings.ToValidUTF8(string(frame.Payload[4:]), "")
	return Clause{Phrase: int(binary.LittleEndian.Uint32(frame.Payload)), IPA: text}, nil
}
