// Package precheck is the port for estimating the suitability of a recording for cloning. Subpackage classic measures
// the signal. A model trained on people's opinions (DNSMOS) could implement the port as well.
package precheck

import (
	"context"
	"io"

	"github.com/recital-tts/recital/internal/speech/audio"
)

// Checker checks uploads. It is safe for concurrent use.
type Checker interface {
	// Check returns the quality of an upload and the range of its speech. Errors: *audio.UnusableError, and the
	// decoder's.
	Check(ctx context.Context, upload audio.Upload) (Result, error)
}

// Result describes a checked recording.
type Result struct {
	DNSMOS     float64 // estimated mean opinion score: 1 (bad, or no speech) to 5 (excellent)
	Start, End float64 // of the speech in seconds; both 0 without any
	Warning    string  // for people: why it does not suffice for a good voice, or ""
}

// Listener tells speech from other sounds by a model that was trained on both. It is safe for concurrent use.
type Listener interface {
	// Listen begins with a recording. Its samples, signed 16-bit little-endian at 16 kHz, are written to the result.
	Listen(ctx context.Context) Hearing
}

// Hearing is a recording that is being heard. Writing to it does not fail.
type Hearing interface {
	io.Writer
	// Speech ends the hearing and returns the share of the recording that is speech, or false if it was not heard. It must
	// be called.
	Speech() (share float64, heard bool)
}
