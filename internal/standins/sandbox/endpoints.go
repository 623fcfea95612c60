package sandbox

import (
	"crypto/rand"
	"slices"
)

// endpoint is an address that webhooks are sent to, beside the one of the configuration.
type endpoint struct {
	base
	APIVersion    text     `json:"api_version"`
	Description   text     `json:"description"`
	EnabledEvents []string `json:"enabled_events"`
	Status        string   `json:"status"`
	URL           string   `json:"url"`
	Secret        string   `json:"sandbox_secret"`
}

func (*endpoint) kind() string { return "we" }

// wants reports whether events of a type are sent to the endpoint.
func (e *endpoint) wants(kind string) bool {
	return e.Status == "enabled" && (slices.Contains(e.EnabledEvents, "*") || slices.Contains(e.EnabledEvents, kind))
}

// createEndpoint answers with the secret, which no other answer has.
func createEndpoint(w *work) (any, error) {
	e := &endpoint{
		base: w.newBase("we", "webhook_endpoint"), APIVersion: text(w.form.String("api_version")),
		Description: text(w.form.String("description")), EnabledEvents: w.form.Strings("enabled_events"),
		Status: "enabled", URL: w.form.Required("url"), Secret: "whsec_" + rand.Text(),
	}
	w.save(e)
	return struct {
		*endpoint
		Shown string `json:"secret"`
	}{e, e.Secret}, nil
}

func updateEndpoint(w *work) (any, error) {
	e, err := find[endpoint](w, w.id)
	if err != nil {
		return nil, err
	}
	w.mergeMetadata(&e.base)
	if w.form.Has("enabled_events") {
		e.EnabledEvents = w.form.Strings("enabled_events")
	}
	if w.form.Has("disabled") {
		e.Status = map[bool]string{true: "disabled", false: "enabled"}[w.form.Bool("disabled", false)]
	}
	w.save(e)
	return e, nil
}

func deleteEndpoint(w *work) (any, error) {
	e, err := find[endpoint](w, w.id)
	if err != nil {
		return nil, err
	}
	w.tx.delete(e.ID)
	return map[string]any{"id": e.ID, "object": e.Object, "deleted": true}, nil
}
