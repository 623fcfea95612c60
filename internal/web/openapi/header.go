package openapi

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/recital-tts/recital/internal/web"
)

// addHeaders adds those that the outcome declares, and those that every reply to a write may have.
func addHeaders(told *response, r *web.Route, o web.Outcome) error {
	may := o.MaySend
	if r.Method != http.MethodGet && len(r.ReadModels) > 0 {
		may = slices.Concat(may, []string{"x-recital-position", "x-recital-stale"})
	}
	for _, name := range slices.Concat([]string{"request-id"}, o.Sends, may) {
		known, ok := headers()[name]
		if !ok {
			return fmt.Errorf("the header %s is not described", name)
		}
		known.Required = !slices.Contains(may, name)
		told.Headers[name] = known
	}
	return nil
}

// headers are all that replies are documented to have.
func headers() map[string]*header {
	plain, count := text(""), &jsonSchema{Type: "integer", Minimum: new(0.0)}
	described := map[string]*header{}
	for _, h := range []struct {
		name, means string
		schema      *jsonSchema
	}{
		{"request-id", "Names the request in logs.", plain},
		{"retry-after", "After how many seconds to ask again.", &jsonSchema{Type: "integer", Minimum: new(1.0)}},
		{"x-should-retry", "Whether the same request may succeed later.", &jsonSchema{Type: "string", Enum: []any{"true", "false"}}},
		{"x-recital-position", "The position in the log that the write has reached, for x-recital-min-position.", plain},
		{"x-recital-stale", "Reads may not show the write yet.", &jsonSchema{Type: "string", Const: "true"}},
		{"x-generation-id", "Names the synthesis, for feedback.", plain},
		{"x-model-version", "The model that speaks, with its version.", plain},
		{"x-seed", "The seed that gives the same audio again.", &jsonSchema{Type: "integer"}},
		{"x-clip-id", "The clip that the result is saved as, when `debug` was asked for.", plain},
		{"x-timestamps-url", "Where the word times can be read, for 10 minutes after the audio has ended.", &jsonSchema{Type: "string", Format: "uri"}},
		{"x-warning", "What of the request could not be done in full.", plain},
		{"x-character-count", "The characters of the text: Unicode code points.", count},
		{"x-characters-used", "What the account has used in its period when all of this text is spoken.", count},
		{"x-characters-limit", "What the plan permits in a period, where that is limited.", count},
		{"x-characters-remaining", "What is left in the period, where that is limited.", count},
		{"x-concurrency-current", "How many syntheses of the account run now, where that is limited.", count},
		{"x-concurrency-limit", "How many may run at once, where that is limited.", count},
		{"accept-ranges", "Parts of the body can be asked for.", plain},
		{"content-range", "Which part of how many bytes the body is.", plain},
		{"content-encoding", "gzip where the client takes it.", plain},
		{"etag", "Changes with the body.", plain},
		{"cache-control", "How long the reply may be kept.", plain},
		{"content-security-policy", "What the page may load.", plain},
	} {
		described[h.name] = &header{Description: h.means, Schema: h.schema}
	}
	return described
}
