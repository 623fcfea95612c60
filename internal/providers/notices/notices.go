// Package notices is the port for sending notices to people: e-mail to the owner of an account, alerts to the
// operators. Its adapters are smtp (a mail server), webhook (a receiver of the operators) and outbox (mode dev).
package notices

import (
	"context"
	"errors"
	"time"
)

// Sender sends notices. It is safe for concurrent use, and ends with the context of a call.
type Sender interface {
	// Send sends a message. A message may be sent again under its id. Errors are those below. They contain neither the
	// recipient nor texts of the other side, which may contain it.
	Send(ctx context.Context, m Message) error
}

// Message is a notice to one recipient.
type Message struct {
	ID      string    // derived from the subject, so that the receiver can recognise a repetition
	Kind    string    // such as usage
	Account string    // "" for the operators
	To      string    // an e-mail address; "" where there is none
	Subject string    // any text
	Body    string    // plain text
	At      time.Time // of the reported event
	Data    map[string]string
}

// Errors of a Sender.
var (
	ErrRefused     = errors.New("the notice is refused for good")
	ErrLater       = errors.New("the notice is not taken now")
	ErrUnavailable = errors.New("notices cannot be sent now") // to any recipient
)

// Timeout bounds one call of a Sender.
const Timeout = 15 * time.Second
