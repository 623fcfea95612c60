package sandbox

import (
	"encoding/json"
	"regexp"
	"strings"
)

// searched is the answer to a search.
type searched struct {
	Object   string `json:"object"`
	URL      string `json:"url"`
	HasMore  bool   `json:"has_more"`
	NextPage text   `json:"next_page"`
	Data     []any  `json:"data"`
}

// clause is a condition such as metadata['attempt']:'x'.
type clause struct{ field, key, value string }

// parseQuery reads the part of Stripe's query language that the sandbox knows: conditions of equality, joined by AND.
func parseQuery(query string) ([]clause, error) {
	condition := regexp.MustCompile(`^(\w+)(?:\[["']([^"']*)["']\])?:(?:"([^"]*)"|'([^']*)')$`)
	var all []clause
	for _, part := range strings.Split(query, " AND ") {
		m := condition.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return nil, invalid("", "query", "We were unable to parse your search query: %s", query)
		}
		all = append(all, clause{field: m[1], key: m[2], value: m[3] + m[4]})
	}
	return all, nil
}

func (c clause) match(o map[string]any) bool {
	v := o[c.field]
	if c.key != "" {
		inside, _ := v.(map[string]any)
		v = inside[c.key]
	}
	switch v := v.(type) {
	case string:
		return v == c.value
	case bool:
		return (c.value == "true") == v
	}
	return false
}

// search finds objects of a kind.
func search[T any, P kept[T]](w *work) (any, error) {
	clauses, err := parseQuery(w.form.Required("query"))
	if err != nil {
		return nil, err
	}
	limit, after := int(w.form.Int("limit", usualPage)), w.form.String("page")
	kind := P(new(T)).kind()
	found := &searched{Object: "search_result", URL: "/v1/" + nameOf(kind) + "s/search", Data: []any{}}
	for raw, err := range w.tx.List(kind, "", keyOf(kind, after)) {
		if err != nil {
			return nil, err
		}
		o := P(new(T))
		if err := json.Unmarshal(raw, o); err != nil {
			return nil, err
		}
		matches, err := w.matches(raw, clauses)
		if err != nil {
			return nil, err
		}
		if !matches {
			continue
		}
		if len(found.Data) == limit {
			found.HasMore = true
			break
		}
		found.Data = append(found.Data, o)
		found.NextPage = text(o.Key())
	}
	if !found.HasMore {
		found.NextPage = ""
	}
	return found, nil
}

func (w *work) matches(raw []byte, clauses []clause) (bool, error) {
	shown, err := w.show(raw)
	o, ok := shown.(map[string]any)
	if err != nil || !ok || o["deleted"] == true {
		return false, err
	}
	for _, c := range clauses {
		if !c.match(o) {
			return false, nil
		}
	}
	return true, nil
}
