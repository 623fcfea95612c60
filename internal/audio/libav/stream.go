//go:build cgo

package libav

import (
	"errors"
	"fmt"

	"github.com/recital-tts/recital/internal/audio/codec/protocol"
	"github.com/recital-tts/recital/internal/workers"
)

// stream serves the requests of one stream, one after the other.
type stream struct {
	server   *server
	id       uint32
	requests chan workers.Frame // closed at the end of the stream
	encoder  *encoder           // nil before Open, and after Finish or a failure
	opened   bool
}

func (st *stream) run() {
	defer st.end()
	for request := range st.requests {
		if request.Kind == protocol.Close {
			st.end()
			st.server.reply(protocol.Closed, st.id, nil)
			return
		}
		encoded, err := st.serve(request)
		if err != nil {
			st.end()
			st.server.fail(st.id, err)
			continue
		}
		st.server.reply(protocol.Encoded, st.id, encoded)
	}
}

func (st *stream) serve(request workers.Frame) ([]byte, error) {
	st.server.processors <- struct{}{}
	defer func() { <-st.server.processors }()
	if request.Kind == protocol.Open {
		return nil, st.open(request.Payload)
	}
	if st.encoder == nil {
		return nil, errors.New("the stream has ended")
	}
	switch request.Kind {
	case protocol.Encode:
		if len(request.Payload) > protocol.MaxEncode {
			return nil, fmt.Errorf("%d bytes of audio at once are too many", len(request.Payload))
		}
		return st.encoder.encode(request.Payload)
	case protocol.Finish:
		defer st.end()
		return st.encoder.finish()
	default:
		return nil, fmt.Errorf("the request %q is unknown", request.Kind)
	}
}

func (st *stream) open(payload []byte) error {
	if st.opened {
		return errors.New("the stream is already open")
	}
	st.opened = true
	opening, err := protocol.ParseOpening(payload)
	if err != nil {
		return err
	}
	if st.encoder, err = openEncoder(opening); err != nil {
		return err
	}
	st.server.memory.opened()
	return nil
}

func (st *stream) end() {
	if st.encoder == nil {
		return
	}
	st.encoder.close()
	st.encoder = nil
	st.server.memory.closed()
}
