package speech

import "github.com/recital-tts/recital/domain"

// Errors of engines, as callers may read them.
var (
	// ErrEngineFailed says that an engine's worker died, stalled or broke its protocol in the middle of a job. The
	// job's own text may be the cause, so repeating it helps only sometimes.
	ErrEngineFailed = domain.Refuse(domain.Unavailable, "The speech engine failed")
	// ErrRefused says that the engine does not take the job as it is; repeating it never helps.
	ErrRefused = domain.Refuse(domain.Invalid, "The speech engine refuses the text")
	// ErrTooMuchAudio says that one segment became more audio than is held in memory.
	ErrTooMuchAudio = domain.Refuse(domain.Invalid, "A segment of the text gives more audio than is permitted")
	// ErrEngineClosed says that the engine is shut down.
	ErrEngineClosed = domain.Refuse(domain.Unavailable, "The speech engine is shut down")
)
