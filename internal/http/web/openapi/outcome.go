package openapi

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/recital-tts/recital/internal/http/web"
)

// addOutcome adds a declared reply; two of the same status are alternatives.
func (w *writer) addOutcome(op *operation, r *web.Route, o web.Outcome) error {
	status := strconv.Itoa(o.Status)
	told := op.Responses[status]
	if told == nil {
		told = &response{Description: cmp.Or(o.Means, http.StatusText(o.Status)), Headers: map[string]*header{}}
		op.Responses[status] = told
	}
	if told.Description == "" {
		return fmt.Errorf("the status %d is unknown", o.Status)
	}
	if o.Body != nil {
		schema, err := w.components.schemaOf(o.Body)
		if err != nil {
			return err
		}
		told.addJSON(schema)
	}
	for _, media := range o.Media {
		told.Content.at(media).Schema = &jsonSchema{Type: "string", Format: "binary"}
	}
	return w.addHeaders(told, r, o)
}

func (told *response) addJSON(schema *jsonSchema) {
	json := told.Content.at("application/json")
	if before := json.Schema; before != nil {
		schema = &jsonSchema{AnyOf: []*jsonSchema{before, schema}}
	}
	json.Schema = schema
}

// refusals are the statuses, beside those of the outcomes, that the row makes possible.
func refusals(r *web.Route, inputs []input) []int {
	found := map[int]bool{http.StatusServiceUnavailable: true}
	may := func(condition bool, statuses ...int) {
		for _, status := range statuses {
			found[status] = found[status] || condition
		}
	}
	body := slices.ContainsFunc(inputs, func(in input) bool { return in.source == "body" || in.source == "raw" })
	may(r.Forms || waitsForPosition(r) || r.IsSocket(), http.StatusBadRequest)
	// Two credentials that differ are a 400, and many wrong ones a 429.
	may(r.Access != web.AccessPublic || len(r.Roles) > 0, http.StatusBadRequest, http.StatusUnauthorized, http.StatusTooManyRequests)
	may(len(r.Roles) > 0 || r.TakesSessions() && r.ChangesState, http.StatusForbidden)
	may(r.Method != http.MethodGet && r.Access != web.AccessPublic, http.StatusConflict)
	may(body, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusTooManyRequests)
	may(len(inputs) > 0, http.StatusUnprocessableEntity)
	may(r.IsSocket(), http.StatusUpgradeRequired)
	may(waitsForPosition(r), http.StatusGatewayTimeout)
	may(true, r.Refusals...)
	may(r.Appends && len(r.Roles) == 0, http.StatusTooManyRequests)
	maps.DeleteFunc(found, func(_ int, possible bool) bool { return !possible })
	return slices.Sorted(maps.Keys(found))
}
