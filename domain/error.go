// Package domain holds what may happen. Its subpackages are one aggregate each: a command is a struct with
// Decide, Evolve folds events into state, and nothing else. Only the standard library is imported here: time,
// ids and random values are fields of the commands.
package domain

import "errors"

// Code classifies a refusal. The edge maps each code to one HTTP status.
type Code string

// The codes of refusals.
const (
	Invalid         Code = "invalid"          // the request can never be carried out as it stands
	Unauthenticated Code = "unauthenticated"  // nobody known is asking
	Denied          Code = "denied"           // somebody known asks for what is not theirs
	NotFound        Code = "not_found"        // the thing asked for does not exist for the caller
	Conflict        Code = "conflict"         // the state changed meanwhile; asking again may succeed
	PaymentRequired Code = "payment_required" // the plan's characters do not suffice
	Unavailable     Code = "unavailable"      // a part that is needed does not answer now; asking again later may succeed
)

// Error is a refusal that the caller may read: Message holds no secret, no personal data and no text of a request.
type Error struct {
	Code    Code
	Message string
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Refuse makes an Error.
func Refuse(code Code, message string) error { return &Error{Code: code, Message: message} }

// CodeOf is the code of the first Error in err's chain, or "" when there is none.
func CodeOf(err error) Code {
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return ""
}
