// Package notices is the port of what carries notices to people: e-mail to the owner of an account, alerts to the
// operators. Its adapters are smtp (a mail server), webhook (a receiver of the operators) and outbox (mode dev).
package notices

import (
	"context"
	"errors"
	"time"
)

// Sender sends notices. It is safe for concurrent use, and ends with the context of a call.
type Sender interface {
	// Send hands a message over. A message may be sent again under its id. Errors are those below. None names the
	// recipient or repeats what the other side has said, which may.
	Send(ctx context.Context, m Message) error
}

// Message is a notice to one recipient.
type Message struct {
	ID      string    // derives from what the notice is about, so that the receiver can recognise a repetition
	Kind    string    // such as usage
	Account string    // "" for the operators
	To      string    // an e-mail address; "" where there is none
	Subject string    // may hold any text
	Body    string    // plain text
	At      time.Time // when it happened
	Data    map[string]string
}

// Errors of a Sender.
var (
	ErrRefused     = errors.New("the notice is refused for good")
	ErrLater       = errors.New("the notice is not taken now")
	ErrUnavailable = errors.New("notices cannot be sent now") // none of them, whoever they are to
)

// Timeout bounds one call of a Sender.
const Timeout = 15 * time.Second
