package web

import (
	"net/http"
	"strconv"
	"strings"
)

// Dialect is the form of answers that a client expects, chosen by its lmnt-version header.
type Dialect uint8

// The dialects.
const (
	V10 Dialect = iota // flat errors, durations, seed
	V11                // error envelope, timestamps
)

// ParseDialect reads a version leniently: 1.1 and above are V11, whether as "1.2", "v2" or a date; everything else,
// nothing included, is V10. The header's value is never refused.
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
		return V11
	case len(parts) == 1:
		return V10
	}
	if minor, err := strconv.Atoi(parts[1]); err == nil && minor >= 1 {
		return V11
	}
	return V10
}

// errorTypes are the envelope's types by status. Those from 400 to 500 that the published specification names are its
// own; the others are named alike.
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

type envelope struct {
	Detail    any         `json:"detail,omitempty"`
	Type      string      `json:"type"`
	Error     envelopeOne `json:"error"`
	RequestID string      `json:"request_id"`
}

type envelopeOne struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// flat is the error body of dialect 1.0. Its clients print `error` when it is a string, else `message`.
type flat struct {
	Detail  any    `json:"detail,omitempty"`
	Error   string `json:"error,omitempty"`
	Message string `json:"message,omitempty"`
	Status  int    `json:"status,omitempty"`
}

// body is the answer's JSON value in a dialect.
func (a answer) body(dialect Dialect, requestID string) any {
	message, detail := a.message, any(nil)
	switch {
	case len(a.items) > 0:
		message, detail = a.items[0].Field()+": "+a.items[0].Msg, a.items
	case a.detail:
		detail = a.message
	}
	if dialect == V11 {
		name := errorType(a.status)
		return envelope{Detail: detail, Type: "error", Error: envelopeOne{Type: name, Message: message}, RequestID: requestID}
	}
	switch {
	case a.status == http.StatusUnauthorized:
		return flat{Detail: detail, Error: message, Message: message, Status: a.status}
	case a.detail:
		return flat{Detail: detail, Error: message, Message: message}
	}
	return flat{Detail: detail, Error: message}
}
