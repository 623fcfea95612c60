package synthesis

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/recital-tts/recital/internal/speech"
)

// ahead is a piece of the stream that was read before the reply is written.
type ahead struct {
	piece speech.Piece
	err   error
}

// AwaitAudio returns when the first audio is available, so that an earlier failure can be reported before the reply is
// sent. It is called before Write or Whole, in the same goroutine. After an error the reply cannot be used.
func (r *Reply) AwaitAudio(ctx context.Context) error {
	piece, err := r.stream.Next(ctx)
	r.ahead = &ahead{piece, err}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("waiting for the first audio: %w", err)
		r.observe(ctx, err)
		return err
	}
	return nil
}

// Next implements rendering.Source: it returns the pieces of the stream, starting with the one that was read ahead.
func (r *Reply) Next(ctx context.Context) (speech.Piece, error) {
	if first := r.ahead; first != nil {
		r.ahead = nil
		return first.piece, first.err
	}
	return r.stream.Next(ctx)
}
