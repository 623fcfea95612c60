// Llm speaks the answer of a language model while the model writes it: tokens go into a WebSocket as they come, and
// audio comes back after the first clause, with the times of its words.
//
//	RECITAL_KEY=rk_… go run ./examples/llm
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/fasthttp/websocket"
)

func main() {
	file, err := os.Create("answer.mp3")
	if err == nil {
		err = errors.Join(speak(tokens(), file), file.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// tokens takes the place of a model's stream.
func tokens() <-chan string {
	stream := make(chan string)
	go func() {
		defer close(stream)
		for _, token := range strings.SplitAfter("The sky is blue, because air scatters blue light most. That is all.", " ") {
			stream <- token
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return stream
}

// speak writes audio as it arrives, and prints each word with the seconds at which it begins.
func speak(text <-chan string, audio io.Writer) error {
	address := cmp.Or(os.Getenv("RECITAL_ADDRESS"), "http://127.0.0.1:8080")
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(address, "http")+"/v1/ai/speech/stream", nil)
	if err != nil {
		return err
	}
	defer ws.Close()
	if err := ws.WriteJSON(map[string]any{
		"X-API-Key": os.Getenv("RECITAL_KEY"), "lmnt-version": "1.1", "voice": "leah", "return_timestamps": true,
	}); err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() { sent <- send(ws, text) }()
	if err := receive(ws, audio); err != nil {
		return err
	}
	return <-sent
}

func send(ws *websocket.Conn, text <-chan string) error {
	for token := range text {
		if err := ws.WriteJSON(map[string]string{"type": "text", "text": token}); err != nil {
			return err
		}
	}
	return ws.WriteJSON(map[string]string{"type": "finish"})
}

// message is one of the server's in text. Binary ones are audio.
type message struct {
	Type       string
	Timestamps []struct {
		Text            string
		Start, Duration float64 // seconds, from the start of the audio just before the message
	}
	Error struct{ Message string }
}

// receive reads until the server closes the connection.
func receive(ws *websocket.Conn, audio io.Writer) error {
	start := 0.0
	for {
		kind, data, err := ws.ReadMessage()
		if websocket.IsCloseError(err, websocket.CloseNormalClosure) {
			return nil
		}
		if err == nil && kind == websocket.BinaryMessage {
			_, err = audio.Write(data)
		}
		if err != nil {
			return err
		}
		if kind == websocket.BinaryMessage {
			continue
		}
		var m message
		if err := json.Unmarshal(data, &m); err != nil {
			return err
		}
		if m.Type == "error" {
			return errors.New(m.Error.Message)
		}
		end := start
		for _, word := range m.Timestamps {
			if strings.TrimSpace(word.Text) != "" { // silence has times, too
				fmt.Printf("%6.2f  %s\n", start+word.Start, word.Text)
			}
			end = start + word.Start + word.Duration
		}
		start = end
	}
}
