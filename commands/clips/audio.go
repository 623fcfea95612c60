package clips

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
	errDiscarded    = errors.New("the clip was discarded")
)

// Audio is the audio of a reply that is written to the blob store while it is sent to the client. Nothing is buffered, so a
// slow store slows the reply down. An error of the store prevents the clip, never the reply. A nil Audio stores nothing.
type Audio struct {
	pipe   *io.PipeWriter
	cancel context.CancelFunc // of the store
	size   int64
	failed error         // why the clip will not be kept
	ended  chan struct{} // closed when the store is done
	blob   blobs.Blob    // readable after ended
	err    error         // readable after ended
}

// Record begins to store the audio of a clip. It goes on when ctx ends, because a client that hangs up after it has
// received all audio keeps the clip. Discard must be called afterwards.
func (c *Clips) Record(ctx context.Context, draft Draft) *Audio {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	source, pipe := io.Pipe()
	a := &Audio{pipe: pipe, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(a.ended)
		a.blob, a.err = c.blobs.Put(ctx, blobs.Owner(clip.Stream(draft.ID)), source)
		source.CloseWithError(errors.Join(a.err, io.ErrClosedPipe))
	}()
	return a
}

// Beside returns a writer to w that also records what w has taken.
func (a *Audio) Beside(w io.Writer) io.Writer {
	if a == nil {
		return w
	}
	return &besideWriter{to: w, audio: a}
}

type besideWriter struct {
	to    io.Writer
	audio *Audio
}

func (w *besideWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.audio.add(p[:n])
	return n, err
}

func (a *Audio) add(p []byte) {
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
func (a *Audio) finish(ctx context.Context) (blobs.Blob, error) {
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

// makeWhole stores a WAV file again with its true lengths, which were not known when its first bytes were stored. If a crash
// leaves the first copy behind, Sweep removes it.
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
	if whole.Address == streamed.Address { // the lengths were right, and the blob is the same
		return whole, nil
	}
	if err := c.blobs.Delete(ctx, streamed.Address); err != nil {
		c.log.WarnContext(ctx, "a clip's first audio is left for the sweep", "error", err)
	}
	return whole, nil
}

// Discard ends what is still running. After a successful Save it does nothing.
func (a *Audio) Discard() {
	if a == nil {
		return
	}
	a.cancel()
	a.pipe.CloseWithError(errDiscarded)
	<-a.ended
}
