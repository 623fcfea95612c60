package commands

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/audio"
	"github.com/recital-tts/recital/internal/blobs"
)

// maxClip bounds a clip's audio in bytes: more than half an hour in the largest format.
const maxClip = 256 << 20

var (
	errClipTooLarge = errors.New("the audio is too large for a clip")
	errDiscarded    = errors.New("the clip is not wanted any more")
)

// clipAudio is the audio of a reply on its way into the blob store, while the client gets it. What the store cannot keep
// up with holds the reply back: nothing is buffered. What it cannot keep costs the clip, never the reply. A nil clipAudio
// keeps nothing.
type clipAudio struct {
	id     string
	pipe   *io.PipeWriter
	cancel context.CancelFunc // of the store
	size   int64
	failed error         // why the clip will not be kept
	ended  chan struct{} // closed when the store is done
	blob   blobs.Blob    // readable after ended
	err    error         // readable after ended
}

// record begins a clip. Whoever hangs up once all audio is there keeps it, so it goes on when ctx ends; discard must
// follow.
func (c *Clips) record(ctx context.Context, id string) *clipAudio {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	source, pipe := io.Pipe()
	a := &clipAudio{id: id, pipe: pipe, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(a.ended)
		a.blob, a.err = c.blobs.Put(ctx, blobs.Owner(clip.Stream(id)), source)
		source.CloseWithError(errors.Join(a.err, io.ErrClosedPipe))
	}()
	return a
}

// beside gives a writer to w that also records what w has taken.
func (a *clipAudio) beside(w io.Writer) io.Writer {
	if a == nil {
		return w
	}
	return &besideWriter{to: w, audio: a}
}

type besideWriter struct {
	to    io.Writer
	audio *clipAudio
}

func (w *besideWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.audio.add(p[:n])
	return n, err
}

func (a *clipAudio) add(p []byte) {
	if a.failed != nil || len(p) == 0 {
		return
	}
	if a.size += int64(len(p)); a.size > maxClip {
		a.failed = errClipTooLarge
		return
	}
	_, a.failed = a.pipe.Write(p)
}

// finish makes the audio durable.
func (a *clipAudio) finish(ctx context.Context) (blobs.Blob, error) {
	if a.failed != nil {
		return blobs.Blob{}, fmt.Errorf("keeping a clip's audio: %w", a.failed)
	}
	a.pipe.Close()
	select {
	case <-a.ended:
	case <-ctx.Done():
		return blobs.Blob{}, fmt.Errorf("keeping a clip's audio: %w", ctx.Err())
	}
	if a.err != nil {
		return blobs.Blob{}, fmt.Errorf("keeping a clip's audio: %w", a.err)
	}
	return a.blob, nil
}

// makeWhole gives a WAV file its true lengths, which nobody knew when its first bytes were kept: it is kept once more. What a
// crash leaves of the first copy, Sweep removes.
func (c *Clips) makeWhole(ctx context.Context, spec audio.Spec, streamed blobs.Blob) (blobs.Blob, error) {
	if !spec.Format.HasLength() {
		return streamed, nil
	}
	content, err := c.blobs.Open(ctx, streamed.Address, 0, streamed.Size)
	if err != nil {
		return blobs.Blob{}, fmt.Errorf("reading a clip's audio: %w", err)
	}
	defer content.Close()
	file, err := audio.WholeReader(spec, streamed.Size, content)
	if err != nil {
		return blobs.Blob{}, fmt.Errorf("reading a clip's audio: %w", err)
	}
	whole, err := c.blobs.Put(ctx, streamed.Address.Owner(), file)
	if err != nil {
		return blobs.Blob{}, fmt.Errorf("keeping a clip's audio: %w", err)
	}
	if err := c.blobs.Delete(ctx, streamed.Address); err != nil {
		c.log.WarnContext(ctx, "a clip's first audio is left for the sweep", "error", err)
	}
	return whole, nil
}

// discard ends what still runs: nothing, where finish has succeeded.
func (a *clipAudio) discard() {
	if a == nil {
		return
	}
	a.cancel()
	a.pipe.CloseWithError(errDiscarded)
	<-a.ended
}
