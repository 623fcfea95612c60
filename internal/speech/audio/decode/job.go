package decode

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/decode/protocol"
)

// errLost means that the process has exited.
var errLost = errors.New("the decoding process was lost")

// readingBudget limits the bytes that a process reads of an upload. Some demuxers seek back, but none has to read the
// whole file often.
func readingBudget(size int64) int64 { return 8*size + 16<<20 }

// job is an upload with its process.
type job struct {
	worker  *workers.Process
	upload  audio.Upload
	pcm     io.Writer
	longest time.Duration // of the audio
	alive   func()        // called with each frame
	unread  int64         // bytes that the process may still read
	decoded audio.Decoded
	written int64 // bytes of samples
}

func (j *job) run(opening protocol.Opening) error {
	if err := j.worker.In.WriteJSON(protocol.Open, opening); err != nil {
		return errLost
	}
	for {
		frame, err := j.worker.Out.Read()
		if err != nil {
			return errLost
		}
		j.alive()
		if ended, err := j.take(frame, opening); ended || err != nil {
			return err
		}
	}
}

// take handles a frame of the process, which is not trusted. A process that violates the protocol has been broken or
// taken over by its upload.
func (j *job) take(frame workers.Frame, opening protocol.Opening) (ended bool, err error) {
	switch frame.Kind {
	case protocol.Read:
		return false, j.answer(frame)
	case protocol.Format:
		return false, j.note(frame)
	case protocol.Audio:
		return false, j.write(frame.Payload, opening.MaxSamples)
	case protocol.End:
		return true, j.end(frame)
	case protocol.Failed:
		return true, j.faultOf(frame.Payload)
	default:
		return true, broken()
	}
}

func (j *job) answer(frame workers.Frame) error {
	place, err := workers.ParseJSON[protocol.Place](frame, protocol.Read)
	if err != nil || place.Check() != nil {
		return broken()
	}
	if j.unread -= int64(place.Length); j.unread < 0 {
		return broken()
	}
	data := make([]byte, place.Length)
	n, err := j.upload.ReadAt(data, place.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading an upload: %w", err)
	}
	if err := j.worker.In.Write(workers.Frame{Kind: protocol.Data, Payload: data[:n]}); err != nil {
		return errLost
	}
	return nil
}

func (j *job) note(frame workers.Frame) error {
	track, err := workers.ParseJSON[protocol.Track](frame, protocol.Format)
	if err != nil || j.decoded.Codec != "" || track.Codec == "" || len(track.Codec) > 32 {
		return broken()
	}
	j.decoded.Codec, j.decoded.Rate, j.decoded.Channels = track.Codec, track.Rate, track.Channels
	return nil
}

func (j *job) write(samples []byte, most int64) error {
	j.written += int64(len(samples))
	if len(samples)%2 != 0 || j.written > 2*most {
		return broken()
	}
	if _, err := j.pcm.Write(samples); err != nil {
		return fmt.Errorf("keeping decoded audio: %w", err)
	}
	return nil
}

func (j *job) end(frame workers.Frame) error {
	ended, err := workers.ParseJSON[protocol.Ended](frame, protocol.End)
	if err != nil || 2*ended.Samples != j.written {
		return broken()
	}
	j.decoded.Samples, j.decoded.Damaged = ended.Samples, ended.Damaged
	return nil
}

// faultOf returns the error for a failure that the process reported.
func (j *job) faultOf(payload []byte) error {
	if len(payload) != 1 {
		return broken()
	}
	unusable := func(fault audio.Fault, message string) error {
		return &audio.UnusableError{Fault: fault, Message: message}
	}
	switch protocol.Failure(payload[0]) {
	case protocol.NoTrack:
		return unusable(audio.NotAudio, "The file contains no audio")
	case protocol.OtherCodec:
		return unusable(audio.NotAudio, "The audio in the file has an unsupported codec")
	case protocol.TooLong:
		return unusable(audio.TooLong, "The audio is longer than "+j.longest.String())
	case protocol.Channels:
		return unusable(audio.Broken, "The audio has more than 8 channels")
	case protocol.SampleRate:
		return unusable(audio.Broken, "The sample rate is not between 4,000 and 192,000 Hz")
	case protocol.Memory:
		return tooMuch()
	case protocol.Damaged:
		return broken()
	default:
		return errUnavailable
	}
}

func broken() error {
	return &audio.UnusableError{Fault: audio.Broken, Message: "The file is damaged and cannot be decoded"}
}

func tooMuch() error {
	return &audio.UnusableError{Fault: audio.TooLarge, Message: "Decoding the file takes too much memory or time"}
}

// reasonOf returns the error for a process that was lost, given its exit.
func reasonOf(exit error) error {
	var failed *exec.ExitError
	if !errors.As(exit, &failed) {
		return errUnavailable
	}
	status, ok := failed.Sys().(syscall.WaitStatus)
	switch {
	case !ok:
		return errUnavailable
	case status.Signaled() && status.Signal() == syscall.SIGXCPU:
		return tooMuch()
	case status.Signaled() && status.Signal() == syscall.SIGKILL:
		return fmt.Errorf("%w: the process was killed", errUnavailable)
	default:
		return broken()
	}
}
