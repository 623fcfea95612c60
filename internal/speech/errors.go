package speech

import "github.com/recital-tts/recital/domain"

// Errors of engines, in the form that clients see.
var (
	// ErrEngineFailed means that an engine's worker died, stalled or broke its protocol in the middle of a job. The
	// job's own text may be the cause, so a retry helps only sometimes.
	ErrEngineFailed = domain.Refuse(domain.Unavailable, "The speech engine failed")
	// ErrRefused means that the engine does not accept the job as it is; a retry never helps.
	ErrRefused = domain.Refuse(domain.Invalid, "The speech engine refuses the text")
	// ErrTooMuchAudio means that one segment became more audio than is held in memory.
	ErrTooMuchAudio = domain.Refuse(domain.Invalid, "A segment of the text gives more audio than is permitted")
	// ErrEngineClosed means that the engine is shut down.
	ErrEngineClosed = domain.Refuse(domain.Unavailable, "The speech engine is shut down")
)
