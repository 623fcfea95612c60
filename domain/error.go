// Package domain is the domain model. Each subpackage is one aggregate: a command is a struct with a method Decide,
// and Evolve folds events into the state. These packages import only the standard library: times, ids and random
// values are fields of the commands.
package domain

import "errors"

// Code classifies a refusal. Package web maps each code to one HTTP status.
type Code string

// The codes of refusals.
const (
	Invalid         Code = "invalid"          // the request can never succeed as it is
	Unauthenticated Code = "unauthenticated"  // the caller is not known
	Denied          Code = "denied"           // the caller is known and lacks the permission
	NotFound        Code = "not_found"        // the object does not exist for the caller
	Conflict        Code = "conflict"         // the state has changed in the meantime; a retry may succeed
	Rejected        Code = "rejected"         // the state does not permit it; a retry does not help
	PaymentRequired Code = "payment_required" // the plan's characters are not sufficient
	Unavailable     Code = "unavailable"      // a required part does not respond; a later retry may succeed
)

// Error is a refusal that may be shown to the caller: Message contains no secrets, personal data or text of a
// request.
type Error struct {
	Code    Code
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Refuse returns an Error.
func Refuse(code Code, message string) error { return &Error{Code: code, Message: message} }

// CodeOf returns the code of the first Error in err's chain, or "" if there is none.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return ""
}
