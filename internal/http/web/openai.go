package web

import (
	"net/http"
	"strings"
)

// enterRoute notes the route of a visit. Its dialect counts from here on.
func (v *visit) enterRoute(r *Route) {
	v.Route = r
	if r.OpenAI {
		v.Dialect = OpenAI
	}
}

// apiKey returns the API key that a request shows, "" for none.
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

// The codes of OpenAI's interface by which clients tell errors apart.
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
// x-should-retry forbids it: a quota that is used up stays so.
func (a answer) forOpenAI() answer {
	switch a.status {
	case http.StatusUnprocessableEntity:
		a.status, a.code = http.StatusBadRequest, codeWrongValue
		if len(a.items) > 0 {
			a.code = codeOf(a.items[0])
		}
	case http.StatusUnauthorized:
		a.code = codeBadKey
	case http.StatusPaymentRequired:
		a.status, a.code, a.retry = http.StatusTooManyRequests, codeNoQuota, new(false)
	case http.StatusTooManyRequests:
		a.code = codeTooMany
	}
	return a
}

// codeOf returns the code of an input that is wrong.
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

type openAIError struct {
	Error openAIErrorFields `json:"error"`
}

type openAIErrorFields struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// openAIBody returns the body of an answer that forOpenAI has returned.
func openAIBody(a answer, message string) openAIError {
	fields := openAIErrorFields{Message: message, Type: openAIErrorType(a)}
	if len(a.items) > 0 && len(a.items[0].Loc) > 1 && a.items[0].Type != "json_invalid" {
		fields.Param = new(a.items[0].Field())
	}
	if a.code != "" {
		fields.Code = &a.code
	}
	return openAIError{Error: fields}
}

func openAIErrorType(a answer) string {
	switch {
	case a.code == codeNoQuota:
		return codeNoQuota
	case a.status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case a.status >= http.StatusInternalServerError:
		return "server_error"
	}
	return "invalid_request_error"
}
