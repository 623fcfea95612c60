package web

import (
	"errors"
	"net/http"
)

// Explanation is an error as a client may know it, in the words of the answers over HTTP.
type Explanation struct {
	Status  int
	Type    string // of the error envelope, such as "invalid_request_error"
	Message string
}

// Explain returns the status, type and message of an error for protocols in which it is no HTTP response. Errors that a
// client may not see become internal errors.
func Explain(err error) Explanation {
	told := answerTo(err)
	explained := Explanation{Status: told.status, Type: errorType(told.status), Message: told.message}
	if len(told.items) > 0 {
		explained.Message = told.items[0].Field() + ": " + told.items[0].Msg
	}
	return explained
}

// CloseCode is the code that closes a WebSocket for an error.
func CloseCode(err error) int {
	own := map[error]int{errInvalidText: CloseInvalidText, errBinary: CloseUnsupported, errMessageSize: CloseTooBig, errShutdown: CloseGoingAway}
	for known, code := range own {
		if errors.Is(err, known) {
			return code
		}
	}
	switch told := answerTo(err); {
	case told.status == http.StatusTooManyRequests, told.status == http.StatusServiceUnavailable,
		told.status == http.StatusConflict && told.retryAfter > 0:
		return CloseTryLater
	case told.status >= http.StatusInternalServerError:
		return CloseInternal
	}
	return ClosePolicy
}
