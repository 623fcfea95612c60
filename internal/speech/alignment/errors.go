package alignment

import "errors"

// Why a recording cannot be aligned.
var (
	ErrNoWords     = errors.New("the text has no words that can be spoken")
	ErrTooMuchText = errors.New("the text takes much longer to speak than a recording may last")
	ErrNoSpeech    = errors.New("the recording holds no speech")
	// ErrBusy means that as much is being aligned as the service permits.
	ErrBusy = errors.New("too many recordings are being aligned")
)
