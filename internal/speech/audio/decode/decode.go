// Package decode decodes uploads in separate processes, speechworker in mode "decode", one per upload. A process gives
// up everything but the pipes to recitald before it reads the first byte (package confine). A file that makes it crash,
// hang or grow counts as unusable, and does no harm.
package decode

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/decode/protocol"
)

var (
	// errUnavailable means that decoding itself does not work.
	errUnavailable = domain.Refuse(domain.Unavailable, "The decoder of uploads is not available")
	// errTimeout means that the machine was too slow or the process was stopped. A process that is merely busy ends by its
	// processor time.
	errTimeout = domain.Refuse(domain.Unavailable, "Decoding the upload took too long")
)

// Config configures a Pool.
type Config struct {
	Command   workers.Command // speechworker in mode "decode"
	Processes int             // maximum number; 0 means one per processor
	Timeout   time.Duration   // without a read or write by the process; 0 means 2 min
	Logger    *slog.Logger    // nil discards messages
}

func (c Config) withDefaults() Config {
	c.Processes = cmp.Or(c.Processes, runtime.NumCPU())
	c.Timeout = cmp.Or(c.Timeout, 2*time.Minute)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.Command.Logger = cmp.Or(c.Command.Logger, c.Logger)
	c.Command.Alone = true
	return c
}

// Pool limits the number of decoding processes. It is safe for concurrent use.
type Pool struct {
	config Config
	slots  chan struct{}
}

var _ audio.Decoder = (*Pool)(nil)

// NewPool returns a Pool. It has no process while no upload is being decoded.
func NewPool(config Config) *Pool {
	config = config.withDefaults()
	return &Pool{config: config, slots: make(chan struct{}, config.Processes)}
}

// Running returns the number of uploads that are being decoded.
func (p *Pool) Running() int { return len(p.slots) }

// Decode implements audio.Decoder. It waits for a process until ctx ends.
func (p *Pool) Decode(
	ctx context.Context, upload audio.Upload, pcm io.Writer, limits audio.DecodeLimits,
) (audio.Decoded, error) {
	container, err := examine(upload, limits)
	if err != nil {
		return audio.Decoded{}, err
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return audio.Decoded{}, fmt.Errorf("waiting for a decoder: %w", context.Cause(ctx))
	}
	defer func() { <-p.slots }()
	return p.decode(ctx, upload, pcm, limits, container)
}

// examine returns the container of an upload. It refuses an upload that is too large or of an unsupported format.
func examine(upload audio.Upload, limits audio.DecodeLimits) (container string, err error) {
	if limits.Bytes > 0 && upload.Size() > limits.Bytes {
		return "", &audio.UnusableError{Fault: audio.TooLarge, Message: "The file is too large"}
	}
	head := make([]byte, sniffed)
	n, err := upload.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading an upload: %w", err)
	}
	if container = containerOf(head[:n]); container == "" {
		return "", &audio.UnusableError{
			Fault:   audio.NotAudio,
			Message: "The file is not audio in a supported format (wav, mp3, aac, m4a, mp4, ogg, opus, webm, flac)",
		}
	}
	return container, nil
}

func (p *Pool) decode(
	ctx context.Context, upload audio.Upload, pcm io.Writer, limits audio.DecodeLimits, container string,
) (audio.Decoded, error) {
	worker, err := workers.Start(p.config.Command)
	if err != nil {
		return audio.Decoded{}, fmt.Errorf("%w: %w", errUnavailable, err)
	}
	defer func() {
		worker.Kill()
		<-worker.Done()
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(p.config.Timeout, func() { cancel(errTimeout) })
	defer stalled.Stop()
	defer context.AfterFunc(ctx, worker.Kill)()
	job := &job{
		worker: worker, upload: upload, pcm: pcm, unread: readingBudget(upload.Size()), longest: limits.Longest,
		decoded: audio.Decoded{Container: container},
	}
	job.alive = func() { stalled.Reset(p.config.Timeout) }
	err = job.run(opening(upload, limits, container))
	var unusable *audio.UnusableError
	switch {
	case err == nil || errors.As(err, &unusable):
	case ctx.Err() != nil:
		err = fmt.Errorf("decoding an upload: %w", context.Cause(ctx))
	case errors.Is(err, errLost):
		<-worker.Done()
		err = reasonOf(worker.Err())
	}
	return job.decoded, err
}

func opening(upload audio.Upload, limits audio.DecodeLimits, container string) protocol.Opening {
	return protocol.Opening{
		Container: container, Rate: limits.Rate, Size: upload.Size(),
		MaxSamples: int64(limits.Longest.Seconds() * float64(limits.Rate)),
		CPUSeconds: cpuSeconds(limits.Longest),
	}
}

// cpuSeconds returns a limit that is far above the time that decoding needs: the slowest codec needs 3 ms per second of
// audio.
func cpuSeconds(longest time.Duration) int { return 10 + int(longest.Seconds()/50) }

// sniffed is the number of bytes that determine an upload's container.
const sniffed = 12

// containerOf returns the name of the container that starts with head, or "" if it is not supported. It does not depend
// on the client's claims, and no other demuxer reads the upload.
func containerOf(head []byte) string {
	switch {
	case hasAt(head, 0, "RIFF") && hasAt(head, 8, "WAVE"), hasAt(head, 0, "RF64") && hasAt(head, 8, "WAVE"):
		return "wav"
	case hasAt(head, 0, "fLaC"):
		return "flac"
	case hasAt(head, 0, "OggS"):
		return "ogg"
	case hasAt(head, 0, "\x1A\x45\xDF\xA3"): // EBML (RFC 8794)
		return "webm"
	case isMP4(head):
		return "mp4"
	case hasAt(head, 0, "ID3"), isMP3Frame(head):
		return "mp3"
	case isADTSFrame(head):
		return "aac"
	}
	return ""
}

func hasAt(head []byte, offset int, magic string) bool {
	return len(head) >= offset && bytes.HasPrefix(head[offset:], []byte(magic))
}

// isMP4 recognises the first boxes of files (ISO/IEC 14496-12). Old files have no ftyp.
func isMP4(head []byte) bool {
	for _, box := range []string{"ftyp", "moov", "mdat", "free", "skip", "wide"} {
		if hasAt(head, 4, box) {
			return true
		}
	}
	return false
}

// isMP3Frame recognises the header of a Layer III frame (ISO/IEC 11172-3, 2.4.1.3).
func isMP3Frame(head []byte) bool {
	if len(head) < 4 || head[0] != 0xFF || head[1]&0xE0 != 0xE0 {
		return false
	}
	version, layer, bitRate, rate := head[1]>>3&3, head[1]>>1&3, head[2]>>4, head[2]>>2&3
	return version != 1 && layer == 1 && bitRate != 0 && bitRate != 15 && rate != 3
}

// isADTSFrame recognises the header of an AAC frame in an Audio Data Transport Stream (ISO/IEC 13818-7, 6.2).
func isADTSFrame(head []byte) bool {
	const layer, rates = 0, 13
	return len(head) >= 3 && head[0] == 0xFF && head[1]&0xF0 == 0xF0 && head[1]>>1&3 == layer && head[2]>>2&15 < rates
}
