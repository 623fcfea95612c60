package commands

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/recital-tts/recital/internal/speech"
)

// ahead is a piece of the stream that was read before somebody wrote it.
type ahead struct {
	piece speech.Piece
	err   error
}

// AwaitAudio returns when the first audio is there, so that a failure until then can be told before anything is sent. It
// comes before Write or Whole, in the same goroutine. After an error the reply is of no use.
func (r *Reply) AwaitAudio(ctx context.Context) error {
	piece, err := r.stream.Next(ctx)
	r.ahead = &ahead{piece, err}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("waiting for the first audio: %w", err)
	}
	return nil
}

// next gives the pieces of the stream, the one that was read ahead first.
func (r *Reply) next(ctx context.Context) (speech.Piece, error) {
	if first := r.ahead; first != nil {
		r.ahead = nil
		return first.piece, first.err
	}
	return r.stream.Next(ctx)
}
