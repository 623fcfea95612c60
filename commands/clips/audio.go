package clips

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/speech/audio"
)

// savedAtOnce is the maximum number of concurrent saves. When a hanging store blocks them all, further clips wait, and
// then fail.
const savedAtOnce = 64

var errSlowStore = errors.New("the blob store did not take it in time")

// Audio is the audio of a reply, which is collected in the spool while it is sent to the client, so that a slow store
// does not delay the reply. An error of the clip never fails the reply. A nil Audio collects nothing.
type Audio struct {
	file   *spool.File
	whole  bool  // the length in the file's header is right
	failed error // why the clip will not be saved
}

// Record begins to collect the audio of a clip with an expected maximum of bytes. It is called before speech begins.
// The Audio must be closed. Errors: spool.ErrFull, spool.ErrShare.
func (c *Clips) Record(draft Draft, expected int64) (*Audio, error) {
	file, err := c.spool.Create(draft.account, expected)
	if err != nil {
		return nil, fmt.Errorf("collecting a clip's audio: %w", err)
	}
	return &Audio{file: file}, nil
}

// Collected returns the audio of a reply that is complete in the spool. The caller closes the file instead of the
// Audio.
func Collected(file *spool.File) *Audio { return &Audio{file: file, whole: true} }

// Tee returns a writer to w that also collects the accepted bytes.
func (a *Audio) Tee(w io.Writer) io.Writer {
	if a == nil {
		return w
	}
	return &teeWriter{to: w, audio: a}
}

type teeWriter struct {
	to    io.Writer
	audio *Audio
}

func (w *teeWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if w.audio.failed == nil {
		_, w.audio.failed = w.audio.file.Write(p[:n])
	}
	return n, err
}

// content returns the audio, with its final length if the format has one.
func (a *Audio) content(spec audio.Spec) (*io.SectionReader, error) {
	if a.failed == nil && !a.whole {
		a.failed = audio.FinishFile(spec, a.file)
		a.whole = true
	}
	if a.failed != nil {
		return nil, fmt.Errorf("collecting a clip's audio: %w", a.failed)
	}
	return io.NewSectionReader(a.file, 0, a.file.Size()), nil
}

// Close erases the collected audio.
func (a *Audio) Close() {
	if a != nil {
		a.file.Close()
	}
}

// put stores a clip's audio. It returns when ctx ends, even if the store does not respond. A blob that is stored later
// is swept.
func (c *Clips) put(ctx context.Context, draft Draft, content *io.SectionReader) (blobs.Blob, error) {
	select {
	case c.saving <- struct{}{}:
	case <-ctx.Done():
		return blobs.Blob{}, fmt.Errorf("keeping a clip's audio: %w", errSlowStore)
	}
	type outcome struct {
		blob blobs.Blob
		err  error
	}
	ended := make(chan outcome, 1)
	go func() {
		defer func() { <-c.saving }()
		blob, err := c.sealed.Put(ctx, draft.envelope, content, content.Size())
		ended <- outcome{blob, err}
	}()
	select {
	case o := <-ended:
		if o.err != nil {
			return blobs.Blob{}, fmt.Errorf("keeping a clip's audio: %w", o.err)
		}
		return o.blob, nil
	case <-ctx.Done():
		return blobs.Blob{}, fmt.Errorf("keeping a clip's audio: %w", errSlowStore)
	}
}
