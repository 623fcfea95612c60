package speech

import "errors"

// Errors of engines.
var (
	// ErrEngineFailed says that an engine's worker died, stalled or broke its protocol in the middle of a job. The
	// job's own text may be the cause, so repeating it helps only sometimes.
	ErrEngineFailed = errors.New("the speech engine failed")
	// ErrRefused says that the engine does not take the job as it is; repeating it never helps.
	ErrRefused = errors.New("the speech engine refused the job")
	// ErrTooMuchAudio says that one segment became more audio than is held in memory.
	ErrTooMuchAudio = errors.New("a segment of the text gives more audio than is permitted")
	// ErrEngineClosed says that the engine is shut down.
	ErrEngineClosed = errors.New("the speech engine is shut down")
)
