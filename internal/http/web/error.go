package web

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web/bind"
	"github.com/recital-tts/recital/internal/http/web/netconn"
)

// Error is a refusal without a code of the domain, in terms of HTTP. Message is sent to the client.
type Error struct {
	Status     int
	Message    string
	RetryAfter time.Duration // sent as Retry-After, in whole seconds, when above zero
	Retry      *bool         // sent as x-should-retry, when set
	Detail     bool          // the body is FastAPI's {"detail": Message}, plus the envelope in dialect 1.1

	// Code and ClientSecret are sent unless they are empty: the reason why a card was declined, and the secret with which
	// its owner can confirm the payment.
	Code, ClientSecret string
}

func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Status, e.Message) }

// TooManyRequests returns a 429 that asks the client to retry after a time.
func TooManyRequests(message string, after time.Duration) error {
	return &Error{Status: http.StatusTooManyRequests, Message: message, RetryAfter: after, Retry: new(true)}
}

// Invalid returns a 422 for inputs that only a handler can check: see Call.Wrong.
func Invalid(items ...Item) error { return &invalidError{items: items} }

// Item is one entry of the detail of a 422.
type Item = bind.Item

// File is an uploaded part of a form.
type File = bind.File

// Within moves a Decoder's errors of a document to the field of the body that contains the document.
func Within(err error, field string) error {
	invalid, is := errors.AsType[*invalidError](err)
	if !is {
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

// ErrBadPosition is returned by Positions for a text that is not a position of the log: status 400.
var ErrBadPosition = errors.New("not a position of the log")

// ErrStandsStill is returned by Positions, without waiting, for a read model that stopped before the position: status
// 504.
var ErrStandsStill = errors.New("a read model stands still before the position")

var (
	errClientGone   = netconn.ErrGone
	errShutdown     = errors.New("the server is shutting down")
	errHandlerPanic = errors.New("the handler panicked")
)

// answer is the client's view of an error.
type answer struct {
	Error
	items    []Item
	allow    string
	internal bool // the error is logged, and not sent to the client
}

func (a answer) headers() (h RefusalHeaders) {
	if a.RetryAfter > 0 {
		h.RetryAfter = new(max(1, int(math.Ceil(a.RetryAfter.Seconds()))))
	}
	if a.Retry != nil {
		h.ShouldRetry = new(strconv.FormatBool(*a.Retry))
	}
	return h
}

// statusClientGone marks requests of disconnected clients in the log and metrics (the code is nginx's).
const statusClientGone = 499

// answerTo maps every error to its answer. No other code does.
func answerTo(err error) answer {
	var refusal *domain.Error
	var own *Error
	var invalid *invalidError
	var malformed *bind.MalformedError
	var resting interface{ RetryAfter() time.Duration } // an error that knows when to retry
	switch {
	case errors.As(err, &own):
		return answer{Error: *own}
	case errors.As(err, &invalid):
		return answer{Error: Error{Status: http.StatusUnprocessableEntity}, items: invalid.items}
	case errors.As(err, &malformed):
		return answer{Error: Error{Status: http.StatusBadRequest, Message: malformed.Detail, Detail: true}}
	case errors.As(err, &refusal):
		ans := answerToRefusal(refusal)
		if errors.As(err, &resting) && ans.RetryAfter > 0 {
			ans.RetryAfter = max(ans.RetryAfter, resting.RetryAfter())
		}
		return ans
	case errors.Is(err, errClientGone):
		return answer{Error: Error{Status: statusClientGone, Message: "The client has gone"}}
	case errors.Is(err, errShutdown):
		return answer{Error: Error{
			Status: http.StatusServiceUnavailable, Message: "The server is shutting down", RetryAfter: time.Second,
		}}
	case errors.Is(err, context.DeadlineExceeded):
		return answer{internal: true, Error: Error{
			Status: http.StatusGatewayTimeout, Message: "The request took too long", RetryAfter: time.Second,
		}}
	}
	return internalError()
}

func internalError() answer {
	return answer{internal: true, Error: Error{
		Status: http.StatusInternalServerError, Message: "Internal Server Error",
	}}
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
		return internalError()
	}
	ans := answer{Error: Error{Status: status, Message: refusal.Message}}
	switch refusal.Code {
	case domain.Unavailable:
		ans.RetryAfter, ans.internal = time.Second, true
	case domain.Conflict:
		ans.RetryAfter, ans.Retry = time.Second, new(true)
	case domain.Rejected, domain.Invalid:
		ans.Retry = new(false)
	}
	return ans
}

// Explanation is an error in the form for clients, as in answers over HTTP.
type Explanation struct {
	Status  int
	Type    string // of the error envelope, such as "invalid_request_error"
	Message string
}

// Explain returns the status, type and message of an error for protocols other than HTTP. Errors that are hidden from
// clients become internal errors.
func Explain(err error) Explanation {
	ans := answerTo(err)
	explained := Explanation{Status: ans.Status, Type: errorType(ans.Status), Message: ans.Message}
	if len(ans.items) > 0 {
		explained.Message = ans.items[0].Field() + ": " + ans.items[0].Msg
	}
	return explained
}

// CloseCode returns the code that closes a WebSocket for an error.
func CloseCode(err error) int {
	own := map[error]int{
		errInvalidText: CloseInvalidText, errBinary: CloseUnsupported, errMessageSize: CloseTooBig,
		errShutdown: CloseGoingAway,
	}
	for known, code := range own {
		if errors.Is(err, known) {
			return code
		}
	}
	switch ans := answerTo(err); {
	case ans.Status == http.StatusTooManyRequests, ans.Status == http.StatusServiceUnavailable,
		ans.Status == http.StatusConflict && ans.RetryAfter > 0:
		return CloseTryLater
	case ans.Status >= http.StatusInternalServerError:
		return CloseInternal
	}
	return ClosePolicy
}

// Dialect is the form of answers that a client expects, chosen by its lmnt-version header or by the route.
type Dialect uint8

// The dialects.
const (
	V10    Dialect = iota // flat errors, durations, seed
	V11                   // error envelope, timestamps
	V12                   // as V11; on sockets, timestamps are cumulative
	OpenAI                // routes with the option OpenAIRoute, for any header
)

// ParseDialect parses a version leniently: 1.2 and above are V12, also as "v2" or a date, 1.1 is V11, and all others,
// including none, are V10. It never fails.
func ParseDialect(version string) Dialect {
	version = strings.TrimLeft(strings.TrimSpace(version), "vV")
	parts := strings.FieldsFunc(version, func(c rune) bool { return c == '.' || c == '-' })
	if len(parts) == 0 {
		return V10
	}
	major, err := strconv.Atoi(parts[0])
	switch {
	case err != nil || major < 1:
		return V10
	case major > 1:
		return V12
	case len(parts) == 1:
		return V10
	}
	switch minor, err := strconv.Atoi(parts[1]); {
	case err != nil || minor < 1:
		return V10
	case minor == 1:
		return V11
	}
	return V12
}

// errorTypes are the envelope's types by status. Those from 400 to 500 are the published specification's where it has
// them; the others are named in its style.
var errorTypes = map[int]string{
	http.StatusBadRequest:          "invalid_request_error",
	http.StatusUnauthorized:        "authentication_error",
	http.StatusPaymentRequired:     "payment_required_error",
	http.StatusForbidden:           "permission_error",
	http.StatusNotFound:            "not_found_error",
	http.StatusConflict:            "conflict_error",
	http.StatusTooManyRequests:     "rate_limit_error",
	http.StatusInternalServerError: "internal_server_error",
	http.StatusServiceUnavailable:  "service_unavailable_error",
	http.StatusGatewayTimeout:      "timeout_error",
}

func errorType(status int) string {
	if name, ok := errorTypes[status]; ok {
		return name
	}
	if status >= 500 {
		return errorTypes[http.StatusInternalServerError]
	}
	return errorTypes[http.StatusBadRequest]
}

// ErrorEnvelope is the error body from dialect 1.1 on.
type ErrorEnvelope struct {
	Detail any    `json:"detail,omitempty" doc:"As in \x60Error\x60."`
	Type   string `json:"type" literal:"error" doc:"Always \x60error\x60."`
	Error  struct {
		Type    string `json:"type" doc:"The kind of error, such as \x60not_found_error\x60."`
		Message string `json:"message" doc:"What is wrong, for people."`
		payment
	} `json:"error" doc:"What is wrong."`
	RequestID string `json:"request_id" doc:"The same as the header \x60request-id\x60."`
}

// payment is the part of an error about a declined payment.
type payment struct {
	Code         string `json:"code,omitempty" doc:"Why a card was declined, such as \x60insufficient_funds\x60."`
	ClientSecret string `json:"client_secret,omitempty" doc:"With the code \x60authentication_required\x60: confirms the payment in the form of the payment provider."`
}

// FlatError is the error body of dialect 1.0. Its clients print `error` if it is a string, and otherwise `message`.
type FlatError struct {
	Detail  any    `json:"detail,omitempty" doc:"The same, where no route was found, or the body cannot be taken apart."`
	Error   string `json:"error,omitempty" doc:"What is wrong, for people."`
	Message string `json:"message,omitempty" doc:"The same, with a 401 and where there is a \x60detail\x60."`
	Status  int    `json:"status,omitempty" doc:"The status, with a 401."`
	payment
}

// body returns the answer's JSON value in a dialect.
func (a answer) body(dialect Dialect, requestID string) any {
	message, detail, declined := a.Message, any(nil), payment{a.Code, a.ClientSecret}
	switch {
	case len(a.items) > 0:
		message, detail = a.items[0].Field()+": "+a.items[0].Msg, a.items
	case a.Detail:
		detail = a.Message
	}
	if dialect == OpenAI {
		return openAIBody(a, message)
	}
	if dialect == V11 || dialect == V12 {
		body := ErrorEnvelope{Detail: detail, Type: "error", RequestID: requestID}
		body.Error.Type, body.Error.Message, body.Error.payment = errorType(a.Status), message, declined
		return body
	}
	switch {
	case a.Status == http.StatusUnauthorized:
		return FlatError{Detail: detail, Error: message, Message: message, Status: a.Status}
	case a.Detail:
		return FlatError{Detail: detail, Error: message, Message: message}
	}
	return FlatError{Detail: detail, Error: message, payment: declined}
}

// enterRoute sets the route of a visit, and the dialect if the route has its own.
func (v *visit) enterRoute(r *Route) {
	v.Route = r
	if r.OpenAI {
		v.Dialect = OpenAI
	}
}

// apiKey returns the API key of a request, or "".
func (c *Call) apiKey(e *endpoint) (string, error) {
	key, err := c.single(headerAPIKey)
	if err != nil || !e.OpenAI {
		return key, err
	}
	header, err := c.single("authorization")
	if err != nil {
		return "", err
	}
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	switch {
	case token == "" || !strings.EqualFold(scheme, "bearer"):
		return key, nil
	case key != "" && key != token:
		return "", &Error{
			Status: http.StatusBadRequest, Message: "The headers x-api-key and authorization have different API keys",
		}
	}
	return token, nil
}

// The codes that distinguish errors in OpenAI's interface.
const (
	codeBadKey     = "invalid_api_key"
	codeNoQuota    = "insufficient_quota"
	codeTooMany    = "rate_limit_exceeded"
	codeMissing    = "missing_required_parameter"
	codeTooLong    = "string_above_max_length"
	codeTooShort   = "string_below_min_length"
	codeWrongType  = "invalid_type"
	codeWrongValue = "invalid_value"
)

// forOpenAI returns the answer with the status and the code of OpenAI's interface. Its clients retry a 429, unless
// x-should-retry forbids it, as for an exhausted quota.
func (a answer) forOpenAI() answer {
	switch a.Status {
	case http.StatusUnprocessableEntity:
		a.Status, a.Code = http.StatusBadRequest, codeWrongValue
		if len(a.items) > 0 {
			a.Code = codeOf(a.items[0])
		}
	case http.StatusUnauthorized:
		a.Code = codeBadKey
	case http.StatusPaymentRequired:
		a.Status, a.Code, a.Retry = http.StatusTooManyRequests, codeNoQuota, new(false)
	case http.StatusTooManyRequests:
		a.Code = codeTooMany
	}
	return a
}

// codeOf returns the code for a wrong input.
func codeOf(item Item) string {
	switch item.Type {
	case "missing":
		return codeMissing
	case "string_too_long":
		return codeTooLong
	case "string_too_short":
		return codeTooShort
	case "string_type", "float_type", "float_parsing":
		return codeWrongType
	}
	return codeWrongValue
}

// OpenAIError is the error body of OpenAI's interface.
type OpenAIError struct {
	Error struct {
		Message string  `json:"message" doc:"What is wrong, for people."`
		Type    string  `json:"type" doc:"The kind of error, such as \x60invalid_request_error\x60."`
		Param   *string `json:"param" doc:"The input that is wrong."`
		Code    *string `json:"code" doc:"The kind of error in more detail, such as \x60insufficient_quota\x60."`
	} `json:"error" doc:"What is wrong."`
}

// openAIBody returns the body of an answer from forOpenAI.
func openAIBody(a answer, message string) (body OpenAIError) {
	body.Error.Message, body.Error.Type = message, openAIErrorType(a)
	if len(a.items) > 0 && len(a.items[0].Loc) > 1 && a.items[0].Type != "json_invalid" {
		body.Error.Param = new(a.items[0].Field())
	}
	if a.Code != "" {
		body.Error.Code = &a.Code
	}
	return body
}

func openAIErrorType(a answer) string {
	switch {
	case a.Code == codeNoQuota:
		return codeNoQuota
	case a.Status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case a.Status >= http.StatusInternalServerError:
		return "server_error"
	}
	return "invalid_request_error"
}
