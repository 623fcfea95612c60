package synthesis

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"

	"github.com/recital-tts/recital/internal/http/web"
	port "github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/writeapi/synthesis/request"
)

type detailedResponse struct {
	Audio      string        `json:"audio" doc:"The audio, in base64."`
	Seed       int64         `json:"seed" doc:"The seed with which the audio can be reproduced."`
	Durations  []port.Timing `json:"durations,omitempty" doc:"The word times, if they were requested, under the name of version 1.0."`
	Timestamps []port.Timing `json:"timestamps,omitempty" doc:"The same list, under the name of version 1.1."`
}

// audioGoesHere is the beginning of the encoded response.
const audioGoesHere = `{"audio":"`

// piece is the size of a write, in bytes.
const piece = 64 << 10

// MaxAudio is the maximum size of the audio of a reply in JSON, in bytes: in base64, and with its word times, it is 256
// MiB.
const MaxAudio = 190 << 20

// detailed replies with the complete audio.
func (a *API) detailed(call *web.Call, in request.Speech) (web.Reply, error) {
	order := in.WithSeed().Synthesis()
	order.Whole = true
	reply, err := a.begin(call, order)
	if err != nil {
		return web.Reply{}, err
	}
	recording, err := reply.Whole(call)
	if err != nil {
		return web.Reply{}, explain(call, err)
	}
	web.SetHeaders(call, a.headers(call, order, reply)) // which now have the clip, if it was saved
	call.SetPosition(recording.Position.String())
	if recording.Stale {
		call.SetStale()
	}
	response := detailedResponse{Seed: reply.Seed()}
	if in.WantsTimes() {
		response.Durations, response.Timestamps = recording.Timings, recording.Timings
	}
	return response.around(recording.Audio, reply.Release)
}

// sound is audio that is not in memory as a whole.
type sound interface {
	io.WriterTo
	Size() int64
}

// around writes the response around the audio. The audio is released after it was sent, before the client can see the
// end of the reply and begin the next one.
func (r detailedResponse) around(audio sound, release func()) (web.Reply, error) {
	encoded, err := json.Marshal(r)
	if err != nil {
		return web.Reply{}, fmt.Errorf("encoding a response: %w", err)
	}
	head, rest := encoded[:len(audioGoesHere)], encoded[len(audioGoesHere):]
	length := int64(len(encoded) + base64.StdEncoding.EncodedLen(int(audio.Size())))
	return web.Stream("application/json", func(_ context.Context, w io.Writer) error {
		if err := writeAudio(w, head, audio); err != nil {
			return fmt.Errorf("writing audio in JSON: %w", err)
		}
		release()
		if _, err := w.Write(rest); err != nil {
			return fmt.Errorf("writing audio in JSON: %w", err)
		}
		return nil
	}).WithLength(length), nil
}

func writeAudio(w io.Writer, head []byte, audio io.WriterTo) error {
	pieces := bufio.NewWriterSize(w, piece)
	_, _ = pieces.Write(head) // Flush returns any error
	text := base64.NewEncoder(base64.StdEncoding, pieces)
	if _, err := audio.WriteTo(text); err != nil {
		return err
	}
	_ = text.Close()
	return pieces.Flush()
}
