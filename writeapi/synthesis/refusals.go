package synthesis

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/internal/http/web"
)

const (
	// busyPause is when a client that has too many syntheses at once should ask again: most last shorter.
	busyPause = time.Second
	// spoolPause is when there may be a place for a collected reply again, which slow clients hold for longer.
	spoolPause = 5 * time.Second
)

// explain puts what synthesis refuses into terms of HTTP. Other errors stay as they are.
func explain(call *web.Call, err error) error {
	var busy *synthesis.BusyError
	var tooLong *synthesis.TooLongError
	switch {
	case errors.As(err, &busy):
		return web.TooManyRequests("The plan permits "+strconv.Itoa(busy.Limit)+" syntheses at once", busyPause)
	case errors.As(err, &tooLong):
		return call.Invalid("text", describe(tooLong))
	case errors.Is(err, synthesis.ErrNoShare):
		return web.TooManyRequests("Too many clips and replies in JSON of the account are being made, or wait to be read", spoolPause)
	case errors.Is(err, synthesis.ErrNoRoom):
		return &web.Error{Status: http.StatusServiceUnavailable, Message: "Too many clips and replies in JSON are being made, or wait to be read", RetryAfter: spoolPause}
	}
	return err
}

// describe names the combination that is too long, and what would help.
func describe(e *synthesis.TooLongError) string {
	pace := fmt.Sprintf("at speed %g", e.Speed)
	if e.Length > 0 {
		pace = fmt.Sprintf("in %g seconds", e.Length)
	}
	return fmt.Sprintf("the reply would be larger than 256 MiB: %d characters %s, as %s of %d Hz; "+
		"shorten the text, speak faster, choose a smaller format or sample rate, or stream the audio", e.Characters, pace, e.Audio.Format, e.Audio.SampleRate)
}
