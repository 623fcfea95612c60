package codec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/audio/codec/protocol"
)

var errEnded = errors.New("the stream has ended")

// stream is an encoder in a codec process.
type stream struct {
	process *process
	id      uint32
	replies chan workers.Frame // has room for the reply to the request in flight
	err     error              // set when no further call is possible

	// Guarded by the process's mutex.
	asks     bool        // a request other than Close is in flight
	closed   bool        // Close was requested
	watchdog *time.Timer // runs while a reply is due
}

func (s *stream) Encode(ctx context.Context, pcm []byte) ([]byte, error) {
	var encoded []byte
	for len(pcm) > 0 {
		piece := pcm[:min(len(pcm), protocol.MaxEncode)]
		pcm = pcm[len(piece):]
		part, err := s.call(ctx, protocol.Encode, piece)
		if err != nil {
			return nil, fmt.Errorf("encoding: %w", err)
		}
		encoded = join(encoded, part)
	}
	return encoded, nil
}

// join concatenates encoded bytes. It usually avoids a copy.
func join(encoded, part []byte) []byte {
	if len(encoded) == 0 {
		return part
	}
	return append(encoded, part...)
}

func (s *stream) Finish(ctx context.Context) ([]byte, error) {
	encoded, err := s.call(ctx, protocol.Finish, nil)
	if err != nil {
		return nil, fmt.Errorf("finishing a stream: %w", err)
	}
	s.err = errEnded
	return encoded, nil
}

// rest ends the stream so that another one can continue it.
func (s *stream) rest(ctx context.Context) (end protocol.Continued, encoded []byte, err error) {
	payload, err := s.call(ctx, protocol.Rest, nil)
	if err == nil {
		end, encoded, err = protocol.ParseRested(payload)
	}
	if err != nil {
		return end, nil, fmt.Errorf("resting: %w", err)
	}
	s.err = errEnded
	return end, encoded, nil
}

// call sends a request and waits for its reply. After an error, the stream can only be closed.
func (s *stream) call(ctx context.Context, kind byte, payload []byte) ([]byte, error) {
	if s.err == nil {
		s.err = ctx.Err()
	}
	if s.err != nil {
		return nil, s.err
	}
	s.request(kind, payload)
	select {
	case reply := <-s.replies:
		if reply.Kind != protocol.Failed {
			return reply.Payload, nil
		}
		s.err = fmt.Errorf("%w: %s", ErrCodecFailed, reply.Payload)
	case <-s.process.ended:
		s.err = s.process.cause()
	case <-ctx.Done():
		s.err = ctx.Err()
	}
	return nil, s.err
}

func (s *stream) request(kind byte, payload []byte) {
	p := s.process
	p.mu.Lock()
	if p.streams[s.id] == s {
		s.asks = true
		s.watchdog.Reset(p.timeout)
	}
	p.mu.Unlock()
	p.request(workers.Frame{Kind: kind, Stream: s.id, Payload: payload})
}

// Close abandons the stream without waiting. The process's slot is freed when the process confirms.
func (s *stream) Close() {
	p := s.process
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	if s.err == nil {
		s.err = errEnded
	}
	if p.streams[s.id] != s {
		return
	}
	s.watchdog.Reset(p.timeout)
	p.request(workers.Frame{Kind: protocol.Close, Stream: s.id})
}
