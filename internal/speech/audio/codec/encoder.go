package codec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/codec/protocol"
)

// busyPause is the pause between two attempts to continue while all processes are full.
const busyPause = 50 * time.Millisecond

// encoder encodes with a stream of a codec process. After each rest it gets another stream.
type encoder struct {
	pool    *Pool
	opening protocol.Opening // for the next stream
	current *stream          // nil while it rests
	left    []byte           // last bytes of the previous stream, for the next result
}

var _ audio.Encoder = (*encoder)(nil)

func (e *encoder) Encode(ctx context.Context, pcm []byte) ([]byte, error) {
	if err := e.Wake(ctx); err != nil {
		return nil, err
	}
	encoded, err := e.current.Encode(ctx, pcm)
	if err != nil {
		return nil, err
	}
	return e.join(encoded), nil
}

func (e *encoder) Finish(ctx context.Context) ([]byte, error) {
	if e.current == nil {
		return e.join(nil), ctx.Err()
	}
	encoded, err := e.current.Finish(ctx)
	if err != nil {
		return nil, err
	}
	return e.join(encoded), nil
}

func (e *encoder) join(encoded []byte) []byte {
	left := e.left
	e.left = nil
	return join(left, encoded)
}

func (e *encoder) Rest(ctx context.Context) error {
	if e.current == nil {
		return nil
	}
	end, left, err := e.current.rest(ctx)
	if err != nil {
		return err
	}
	e.left, e.opening.Continues = e.join(left), &end
	e.current.Close()
	e.current = nil
	return nil
}

// Wake waits while all processes are full, at most for the pool's timeout, because its client is already being served.
func (e *encoder) Wake(ctx context.Context) error {
	if e.current != nil {
		return nil
	}
	patience, cancel := context.WithTimeout(ctx, e.pool.config.Timeout)
	defer cancel()
	for {
		next, err := e.pool.openStream(ctx, e.opening)
		if err == nil {
			e.current = next
			return nil
		}
		if !errors.Is(err, ErrBusy) {
			return fmt.Errorf("continuing a stream of %s: %w", e.opening.Format, err)
		}
		select {
		case <-time.After(busyPause):
		case <-patience.Done():
			return fmt.Errorf("continuing a stream of %s: %w", e.opening.Format, err)
		}
	}
}

func (e *encoder) Close() {
	if e.current != nil {
		e.current.Close()
	}
}
