package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web/bind"
	"github.com/recital-tts/recital/internal/http/web/netconn"
)

// Error is a refusal in terms of HTTP, for what the domain has no code for. Message is sent to the client.
type Error struct {
	Status     int
	Message    string
	RetryAfter time.Duration // sent as Retry-After, in whole seconds, when above zero
	Retry      *bool         // sent as x-should-retry, when set
	Detail     bool          // the body is FastAPI's {"detail": Message}, plus the envelope in dialect 1.1
}

func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Status, e.Message) }

// TooManyRequests is a 429 that invites the client to try again after a while.
func TooManyRequests(message string, after time.Duration) error {
	again := true
	return &Error{Status: http.StatusTooManyRequests, Message: message, RetryAfter: after, Retry: &again}
}

// Invalid is a 422 for what only a handler can check: see Call.Wrong.
func Invalid(items ...Item) error { return &invalidError{items: items} }

// Item is one entry of a 422's detail.
type Item = bind.Item

// File is an uploaded part of a form.
type File = bind.File

// Within moves what is wrong with a document, as a Decoder says it, to the field of the body that holds the document.
func Within(err error, field string) error {
	var invalid *invalidError
	if !errors.As(err, &invalid) {
		return err
	}
	moved := &invalidError{}
	for _, item := range invalid.items {
		item.Loc = append([]any{"body", field}, item.Loc[1:]...)
		moved.items = append(moved.items, item)
	}
	return moved
}

type invalidError struct{ items []Item }

func (e *invalidError) Error() string {
	return fmt.Sprintf("%d invalid inputs, the first %s: %s", len(e.items), e.items[0].Field(), e.items[0].Msg)
}

// ErrBadPosition is returned by Positions for a position that is not one of the log's: 400.
var ErrBadPosition = errors.New("not a position of the log")

// ErrStandsStill is returned by Positions for a read model that stopped before the position: 504, at once.
var ErrStandsStill = errors.New("a read model stands still before the position")

var (
	errClientGone   = netconn.ErrGone
	errShutdown     = errors.New("the server is shutting down")
	errHandlerPanic = errors.New("the handler panicked")
)

// answer is what a client sees of an error.
type answer struct {
	status     int
	message    string
	items      []Item
	detail     bool
	allow      string
	retryAfter time.Duration
	retry      *bool
	internal   bool // to be logged with its error: the client learns nothing
}

func (a answer) headers() (h RefusalHeaders) {
	if a.retryAfter > 0 {
		h.RetryAfter = new(max(1, int(a.retryAfter.Round(time.Second)/time.Second)))
	}
	if a.retry != nil {
		h.ShouldRetry = new(strconv.FormatBool(*a.retry))
	}
	return h
}

// statusClientGone marks requests of clients that have gone, in log and metrics only (nginx's number).
const statusClientGone = 499

// answerTo maps every error to its answer. It is the only place that does.
func answerTo(err error) answer {
	var refusal *domain.Error
	var own *Error
	var invalid *invalidError
	var malformed *bind.MalformedError
	switch {
	case errors.As(err, &own):
		return answer{status: own.Status, message: own.Message, detail: own.Detail, retryAfter: own.RetryAfter, retry: own.Retry}
	case errors.As(err, &invalid):
		return answer{status: http.StatusUnprocessableEntity, items: invalid.items}
	case errors.As(err, &malformed):
		return answer{status: http.StatusBadRequest, message: malformed.Detail, detail: true}
	case errors.As(err, &refusal):
		return answerToRefusal(refusal)
	case errors.Is(err, errClientGone):
		return answer{status: statusClientGone, message: "The client has gone"}
	case errors.Is(err, errShutdown):
		return unavailable("The server is shutting down")
	case errors.Is(err, context.DeadlineExceeded):
		return answer{status: http.StatusGatewayTimeout, message: "The request took too long", retryAfter: time.Second, internal: true}
	}
	return answer{status: http.StatusInternalServerError, message: "Internal Server Error", internal: true}
}

func answerToRefusal(refusal *domain.Error) answer {
	status, ok := map[domain.Code]int{
		domain.Invalid:         http.StatusBadRequest,
		domain.Unauthenticated: http.StatusUnauthorized,
		domain.PaymentRequired: http.StatusPaymentRequired,
		domain.Denied:          http.StatusForbidden,
		domain.NotFound:        http.StatusNotFound,
		domain.Conflict:        http.StatusConflict,
		domain.Rejected:        http.StatusConflict,
		domain.Unavailable:     http.StatusServiceUnavailable,
	}[refusal.Code]
	if !ok {
		return answer{status: http.StatusInternalServerError, message: "Internal Server Error", internal: true}
	}
	told := answer{status: status, message: refusal.Message}
	switch refusal.Code {
	case domain.Unavailable:
		told.retryAfter, told.internal = time.Second, true
	case domain.Conflict:
		told.retryAfter, told.retry = time.Second, new(true)
	case domain.Rejected, domain.Invalid:
		told.retry = new(false)
	}
	return told
}

func unavailable(message string) answer {
	return answer{status: http.StatusServiceUnavailable, message: message, retryAfter: time.Second}
}
