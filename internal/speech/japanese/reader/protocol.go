package reader

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/japanese"
)

// Kinds of frames. The process sends a hello when it is ready. Each text is then answered with its readings, in JSON.
const (
	kindHello    = 'h'
	kindText     = 't'
	kindReadings = 'r'
)

// MaxText is the number of bytes of the longest text. Segments are far shorter.
const MaxText = 8 << 10

var (
	errFrame    = errors.New("a frame of another kind was expected")
	errReadings = errors.New("the readings are not those of the text")
)

// Serve reads the texts that arrive, until in ends. It returns the error of in or out.
func Serve(in io.Reader, out io.Writer, read func(text string) []japanese.Reading) error {
	texts, answers := workers.NewReader(in), workers.NewWriter(out)
	if err := answers.Write(workers.Frame{Kind: kindHello}); err != nil {
		return err
	}
	for {
		frame, err := texts.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case frame.Kind != kindText || len(frame.Payload) > MaxText:
			return errFrame
		}
		payload, err := json.Marshal(read(string(frame.Payload)))
		if err != nil {
			return fmt.Errorf("encoding readings: %w", err)
		}
		if err := answers.Write(workers.Frame{Kind: kindReadings, Payload: payload}); err != nil {
			return err
		}
	}
}

// receive returns the payload of the next frame, which has to be of a kind.
func receive(from *workers.Reader, kind byte) ([]byte, error) {
	frame, err := from.Read()
	if err == nil && frame.Kind != kind {
		err = errFrame
	}
	return frame.Payload, err
}

// parse returns the readings of a text. They are checked, since what read the text may be at fault. The error does not
// quote it.
func parse(payload []byte, text string) (readings []japanese.Reading, err error) {
	if json.Unmarshal(payload, &readings) != nil {
		return nil, errReadings
	}
	rest := text
	for _, r := range readings {
		if len(r.Original) == 0 || len(r.Original) > len(rest) || rest[:len(r.Original)] != r.Original ||
			!utf8.ValidString(r.Original) || !utf8.ValidString(r.Spoken) {
			return nil, errReadings
		}
		rest = rest[len(r.Original):]
	}
	if rest != "" {
		return nil, errReadings
	}
	return readings, nil
}
