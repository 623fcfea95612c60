// Package precheck is the port for estimating the suitability of a recording for cloning. Subpackage classic measures
// the signal. A model trained on people's opinions (DNSMOS) could implement the port as well.
package precheck

import (
	"context"

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
