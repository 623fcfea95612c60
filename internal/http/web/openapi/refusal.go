package openapi

import (
	"maps"
	"net/http"
	"strconv"
)

// addRefusal adds an error. Where a reply of the route's own has the status, too, it is an alternative.
func (w *writer) addRefusal(op *operation, status string) (err error) {
	if told := op.Responses[status]; told != nil {
		told.addJSON(w.refusalSchema(status))
		return nil
	}
	name := refusalName(status)
	if w.components.Responses == nil {
		w.components.Responses = map[string]*response{}
	}
	if w.components.Responses[name], err = w.refusal(status); err != nil {
		return err
	}
	op.Responses[status] = &response{Ref: "#/components/responses/" + name}
	return nil
}

// refusalNames are the components of the statuses; other statuses are named by their numbers.
func refusalName(status string) string {
	name, ok := map[string]string{
		"400": "BadRequest", "401": "Unauthenticated", "402": "PaymentRequired", "403": "Forbidden", "404": "NotFound", "409": "Conflict",
		"413": "TooLarge", "415": "UnsupportedMediaType", "416": "NoSuchRange", "422": "ValidationError", "426": "UpgradeRequired",
		"429": "TooManyRequests", "503": "Unavailable", "504": "NotInTime", "default": "OtherError",
	}[status]
	if !ok {
		return "Error" + status
	}
	return name
}

func (w *writer) refusal(status string) (*response, error) {
	means, ok := map[string]string{
		"400":     "The request cannot be understood.",
		"401":     "The credential is missing or wrong.",
		"402":     "The plan includes no more of what is asked for: characters, or voices.",
		"403":     "The credential does not permit this, or the cookie of a session came from a page that may not use it.",
		"404":     "There is no such thing.",
		"409":     "It was changed by somebody else at the same time.",
		"413":     "The body is too large.",
		"415":     "The body is compressed, or of a type that is not read.",
		"422":     "Inputs are wrong. All that is wrong is listed.",
		"426":     "The route speaks WebSocket only.",
		"429":     "Too many at once, or in a short time. Ask again after `retry-after` seconds.",
		"503":     "The service is busy, starting or stopping. Ask again after `retry-after` seconds.",
		"504":     "It was not done in time.",
		"default": "Any other error.",
	}[status]
	if !ok {
		number, _ := strconv.Atoi(status)
		means = http.StatusText(number)
	}
	told := &response{Description: means, Headers: map[string]*header{}}
	told.addJSON(w.refusalSchema(status))
	return told, w.addKnown(told, false, []string{"request-id", "retry-after", "x-should-retry"})
}

// refusalSchema refers to the shapes of errors, which it makes components.
func (w *writer) refusalSchema(status string) *jsonSchema {
	if status == "422" {
		return w.refer(validationSchemas(), "HTTPValidationError")
	}
	schemas := map[string]*jsonSchema{"Error": flatSchema(), "ErrorEnvelope": envelopeSchema()}
	return &jsonSchema{AnyOf: []*jsonSchema{w.refer(schemas, "Error"), w.refer(schemas, "ErrorEnvelope")}}
}

// refer makes schemas components, and refers to one of them.
func (w *writer) refer(schemas map[string]*jsonSchema, name string) *jsonSchema {
	maps.Copy(w.components.Schemas, schemas)
	return &jsonSchema{Ref: "#/components/schemas/" + name}
}

func text(means string) *jsonSchema { return &jsonSchema{Type: "string", Description: means} }

func flatSchema() *jsonSchema {
	return &jsonSchema{
		Type: "object", Description: "An error in version 1.0.",
		Properties: map[string]*jsonSchema{
			"error":   text("What is wrong, for people."),
			"message": text("The same, with a 401 and where there is a `detail`."),
			"status":  {Type: "integer", Description: "The status, with a 401."},
			"detail":  text("The same, where no route was found, or the body cannot be taken apart."),
		},
	}
}

func envelopeSchema() *jsonSchema {
	return &jsonSchema{
		Type: "object", Description: "An error from version 1.1 on.", Required: []string{"type", "error", "request_id"},
		Properties: map[string]*jsonSchema{
			"type": {Type: "string", Const: "error", Description: "Always `error`."},
			"error": {Type: "object", Description: "What is wrong.", Required: []string{"type", "message"}, Properties: map[string]*jsonSchema{
				"type":    text("The kind of error, such as `not_found_error`."),
				"message": text("What is wrong, for people."),
			}},
			"request_id": text("The same as the header `request-id`."),
			"detail":     text("As in `Error`."),
		},
	}
}

// validationSchemas are named and made as FastAPI does it, with the keys of the versions beside.
func validationSchemas() map[string]*jsonSchema {
	error, envelope := flatSchema().Properties["error"], envelopeSchema().Properties
	return map[string]*jsonSchema{
		"HTTPValidationError": {
			Type: "object", Required: []string{"detail"}, Description: "Everything that is wrong with the inputs.",
			Properties: map[string]*jsonSchema{
				"detail": {Type: "array", Description: "One element for each input that is wrong.", Items: &jsonSchema{Ref: "#/components/schemas/ValidationError"}},
				"error": {
					AnyOf: []*jsonSchema{error, envelope["error"]}, Description: "The first of it: a text in version 1.0, an object from 1.1 on.",
				},
				"type":       envelope["type"],
				"request_id": envelope["request_id"],
			},
		},
		"ValidationError": {
			Type: "object", Required: []string{"loc", "msg", "type"},
			Properties: map[string]*jsonSchema{
				"loc":  {Type: "array", Description: "Where: the source, and the name in it.", Items: &jsonSchema{AnyOf: []*jsonSchema{text(""), {Type: "integer"}}}},
				"msg":  text("What is wrong, for people."),
				"type": text("The kind of error, such as `missing`."),
				"ctx":  {Type: "object", Description: "What the message is made of."},
			},
		},
	}
}
