package synthesis

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"

	"github.com/recital-tts/recital/internal/audio"
	port "github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/web"
)

type detailedResponse struct {
	Audio      string        `json:"audio" doc:"in base64"`
	Seed       int64         `json:"seed"`
	Durations  []port.Timing `json:"durations,omitempty"`  // dialect 1.0
	Timestamps []port.Timing `json:"timestamps,omitempty"` // dialect 1.1: the same list
}

// audioGoesHere is how the encoded response begins.
const audioGoesHere = `{"audio":"`

// piece is how much is handed over at once, in bytes.
const piece = 64 << 10

// around writes the response around the audio, so that what may be a hundred megabytes is not held once more in base64, and
// again in JSON.
func (r detailedResponse) around(sound *audio.Sound) (web.Reply, error) {
	encoded, err := json.Marshal(r)
	if err != nil {
		return web.Reply{}, fmt.Errorf("encoding a response: %w", err)
	}
	head, rest := encoded[:len(audioGoesHere)], encoded[len(audioGoesHere):]
	length := int64(len(encoded) + base64.StdEncoding.EncodedLen(int(sound.Size())))
	return web.Stream("application/json", func(_ context.Context, w io.Writer) error {
		pieces := bufio.NewWriterSize(w, piece)
		_, _ = pieces.Write(head) // errors come again with Flush
		text := base64.NewEncoder(base64.StdEncoding, pieces)
		if _, err := sound.WriteTo(text); err != nil {
			return fmt.Errorf("writing audio in JSON: %w", err)
		}
		_ = text.Close()
		_, _ = pieces.Write(rest)
		if err := pieces.Flush(); err != nil {
			return fmt.Errorf("writing audio in JSON: %w", err)
		}
		return nil
	}).WithLength(length), nil
}
