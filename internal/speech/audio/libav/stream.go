//go:build cgo

package libav

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/audio/codec/protocol"
)

// stream serves the requests of a stream in order.
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
		kind, payload, err := st.serve(request)
		if err != nil {
			st.end()
			st.server.fail(st.id, err)
			continue
		}
		st.server.reply(kind, st.id, payload)
	}
}

// serve returns the reply to a request.
func (st *stream) serve(request workers.Frame) (kind byte, payload []byte, err error) {
	st.server.processors <- struct{}{}
	defer func() { <-st.server.processors }()
	kind = protocol.Encoded
	switch {
	case request.Kind == protocol.Open:
		err = st.open(request)
	case st.encoder == nil:
		err = errors.New("the stream has ended")
	case request.Kind == protocol.Encode && len(request.Payload) > protocol.MaxEncode:
		err = fmt.Errorf("%d bytes of audio at once are too many", len(request.Payload))
	case request.Kind == protocol.Encode:
		payload, err = st.encoder.encode(request.Payload)
	case request.Kind == protocol.Finish:
		payload, err = st.encoder.finish()
		st.end()
	case request.Kind == protocol.Rest:
		kind = protocol.Rested
		payload, err = st.rest()
	default:
		err = fmt.Errorf("the request %q is unknown", request.Kind)
	}
	return kind, payload, err
}

func (st *stream) rest() ([]byte, error) {
	defer st.end()
	end, encoded, err := st.encoder.rest()
	return protocol.RestedPayload(end, encoded), err
}

func (st *stream) open(request workers.Frame) error {
	if st.opened {
		return errors.New("the stream is already open")
	}
	st.opened = true
	opening, err := workers.ParseJSON[protocol.Opening](request, protocol.Open)
	if err := cmp.Or(err, opening.Check()); err != nil {
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
