package synthesis

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/recital-tts/recital/commands/synthesis"
)

// eventStream is the content type of server-sent events.
const eventStream = "text/event-stream"

// audioDelta is an event with a piece of the audio.
type audioDelta struct {
	Type  string `json:"type"`
	Audio []byte `json:"audio"` // in base64
}

// audioDone is the last event.
type audioDone struct {
	Type  string     `json:"type"`
	Usage tokenUsage `json:"usage"`
}

// tokenUsage is the cost of a synthesis in characters.
type tokenUsage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Total  int64 `json:"total_tokens"`
}

// writeEvents writes the audio of a reply as server-sent events.
func writeEvents(ctx context.Context, w io.Writer, reply *synthesis.Reply) error {
	if err := reply.Write(ctx, deltas{w}); err != nil {
		return err
	}
	charged := reply.Charged()
	return writeEvent(w, audioDone{Type: "speech.audio.done", Usage: tokenUsage{Input: charged, Total: charged}})
}

// deltas writes each piece of audio as an event.
type deltas struct{ to io.Writer }

func (d deltas) Write(audio []byte) (int, error) {
	if err := writeEvent(d.to, audioDelta{Type: "speech.audio.delta", Audio: audio}); err != nil {
		return 0, err
	}
	return len(audio), nil
}

// writeEvent writes an event in one piece. It has no name: clients distinguish events by their types.
func writeEvent[Event audioDelta | audioDone](w io.Writer, event Event) error {
	data, err := json.Marshal(event)
	if err != nil {
		return fmt.Errorf("encoding an event: %w", err)
	}
	line := append(append([]byte("data: "), data...), "\n\n"...)
	if _, err := w.Write(line); err != nil {
		return fmt.Errorf("writing an event: %w", err)
	}
	return nil
}
