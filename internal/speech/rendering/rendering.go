// Package rendering renders a stream of speech as audio in the format of a reply. It writes no events.
package rendering

import (
	"context"
	"errors"
	"io"

	"github.com/recital-tts/recital/internal/speech"
)

// Source is a stream of speech. Next returns io.EOF at its end.
type Source interface {
	Next(ctx context.Context) (speech.Piece, error)
}

// encode encodes samples and returns the bytes that are ready, which may be none.
type encode func(ctx context.Context, pcm []byte) ([]byte, error)

// deliver is called with each piece of the source and the encoded bytes that are ready after it.
type deliver func(piece speech.Piece, encoded []byte) error

// Render encodes and delivers a source piece by piece to its end. It does not finish the encoder.
func Render(ctx context.Context, source Source, encode encode, deliver deliver) error {
	for {
		piece, err := source.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var encoded []byte
		if len(piece.PCM) > 0 {
			if encoded, err = encode(ctx, piece.PCM); err != nil {
				return err
			}
		}
		if err := deliver(piece, encoded); err != nil {
			return err
		}
	}
}
