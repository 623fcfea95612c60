// Package precheck estimates how good a recording is for cloning a voice from it. It is the port; the subpackage
// classic measures the signal, and a model that was trained on people's opinions (DNSMOS) can stand behind it as well.
package precheck

import (
	"context"
	"errors"

	"github.com/recital-tts/recital/internal/speech/audio"
)

// Checker checks uploads. It is safe for concurrent use.
type Checker interface {
	// Check returns how good an upload is, and where the speech in it is. Errors: *audio.UnusableError, ErrBusy, and
	// those of the decoder.
	Check(ctx context.Context, upload audio.Upload) (Result, error)
}

// Result is what was found in a recording.
type Result struct {
	DNSMOS     float64 // estimated mean opinion score: 1 (bad, or no speech) to 5 (excellent)
	Start, End float64 // of the speech in seconds; both 0 without any
	Warning    string  // for people: why no good voice can be made of it; "" if one can
}

// ErrBusy means that as much is being checked as the service permits.
var ErrBusy = errors.New("too many recordings are being checked")
