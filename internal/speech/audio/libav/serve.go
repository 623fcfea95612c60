//go:build cgo

package libav

// #include "encoder.h"
import "C"

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/audio/codec/protocol"
)

// backlog is the maximum number of waiting requests of a stream: one, and a Close that was sent before its reply.
const backlog = 2

// ErrNotLoaded means that a library of libav is missing or has another version. It is returned before anything is read.
var ErrNotLoaded = errors.New("opening libav")

// Serve encodes streams as internal/speech/audio/codec/protocol defines, until in ends. An invalid or failing request
// only ends its own stream. The returned error is an error of in or out.
func Serve(in io.Reader, out io.Writer) error {
	if missing := C.recital_open_libraries(); missing != nil {
		return fmt.Errorf("%w: %s", ErrNotLoaded, C.GoString(missing))
	}
	C.recital_quiet()
	s := &server{
		out:        workers.NewWriter(out),
		processors: make(chan struct{}, runtime.GOMAXPROCS(0)),
		streams:    make(map[uint32]*stream),
	}
	err := s.read(workers.NewReader(in))
	for _, st := range s.streams {
		close(st.requests)
	}
	s.running.Wait()
	return errors.Join(err, s.writeErr)
}

type server struct {
	mu       sync.Mutex // guards out and writeErr
	out      *workers.Writer
	writeErr error

	processors chan struct{}      // limits the number of streams that encode concurrently
	streams    map[uint32]*stream // used by the reading goroutine only
	running    sync.WaitGroup
	memory     memory
}

func (s *server) read(in *workers.Reader) error {
	for {
		frame, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading requests: %w", err)
		}
		s.dispatch(frame)
	}
}

// dispatch passes a request to its stream's goroutine. It never blocks, so that streams do not delay each other.
func (s *server) dispatch(frame workers.Frame) {
	st := s.streams[frame.Stream]
	switch {
	case st == nil && frame.Kind == protocol.Close:
		s.reply(protocol.Closed, frame.Stream, nil)
	case st == nil && frame.Kind == protocol.Open && len(s.streams) < protocol.MaxStreams:
		s.start(frame)
	case st == nil && frame.Kind == protocol.Open:
		s.fail(frame.Stream, errors.New("too many streams"))
	case st == nil:
		s.fail(frame.Stream, errors.New("the stream is not open"))
	default:
		s.forward(st, frame)
	}
}

func (s *server) start(opening workers.Frame) {
	st := &stream{server: s, id: opening.Stream, requests: make(chan workers.Frame, backlog)}
	s.streams[st.id] = st
	st.requests <- opening
	s.running.Go(st.run)
}

func (s *server) forward(st *stream, frame workers.Frame) {
	select {
	case st.requests <- frame:
		if frame.Kind != protocol.Close {
			return
		}
	default:
		s.fail(st.id, errors.New("too many requests at once"))
	}
	delete(s.streams, st.id)
	close(st.requests)
}

func (s *server) fail(id uint32, err error) { s.reply(protocol.Failed, id, []byte(err.Error())) }

func (s *server) reply(kind byte, id uint32, payload []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writeErr != nil {
		return // recitald is gone, and the input will end
	}
	if err := s.out.Write(workers.Frame{Kind: kind, Stream: id, Payload: payload}); err != nil {
		s.writeErr = fmt.Errorf("answering: %w", err)
	}
}
