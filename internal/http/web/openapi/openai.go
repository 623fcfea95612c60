package openapi

import (
	"reflect"
)

// openAIError is the shape of the errors of OpenAI's interface. Its name is that of the component.
type openAIError struct {
	Error struct {
		Message string  `json:"message" doc:"What is wrong, for people."`
		Type    string  `json:"type" doc:"The kind of error, such as \x60invalid_request_error\x60."`
		Param   *string `json:"param" doc:"The input that is wrong."`
		Code    *string `json:"code" doc:"The kind of error in more detail, such as \x60insufficient_quota\x60."`
	} `json:"error" doc:"What is wrong."`
}

// addOpenAIRefusal is addRefusal for routes of OpenAI's interface, on which 400 and 429 stand for 422 and 402.
func (w *writer) addOpenAIRefusal(op *operation, status string) error {
	if status == "422" {
		status = "400"
	}
	if status == "402" {
		status = "429"
	}
	if op.Responses[status] != nil {
		return nil
	}
	schema, err := w.components.schemaOf(reflect.TypeFor[openAIError]())
	if err != nil {
		return err
	}
	resp := &response{Description: openAIRefusals[status], Headers: map[string]*header{}}
	if resp.Description == "" {
		resp.Description = commonRefusals[status].means
	}
	resp.addJSON(schema)
	op.Responses[status] = resp
	return w.addKnown(resp, false, []string{"request-id", "retry-after", "x-should-retry"})
}

// openAIRefusals are the statuses that mean something else than on other routes.
var openAIRefusals = map[string]string{
	"400": "Inputs are wrong. The error names the first one.",
	"429": "Too many at once, or in a short time. Ask again after `retry-after` seconds. With the code " +
		"`insufficient_quota` the plan includes no more characters.",
}
