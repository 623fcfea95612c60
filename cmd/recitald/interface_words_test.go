package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// documentAt returns a JSON document of the server.
func (s *server) documentAt(path string) (document map[string]any) {
	s.t.Helper()
	request, err := http.NewRequest(http.MethodGet, s.address+path, nil)
	require.NoError(s.t, err)
	got := requireOK(s.t, do(s.t, request))
	require.NoError(s.t, json.Unmarshal(got.body, &document))
	return document
}

// everythingIsDescribed checks that each operation, parameter, header and field has a description.
func (s *server) everythingIsDescribed(t *testing.T) {
	found := descriptions(s.documentAt("/openapi.json"), "")
	maps.Copy(found, descriptions(s.documentAt("/asyncapi.json"), "sockets"))
	require.Greater(t, len(found), 500)
	for place, text := range found {
		require.NotEmpty(t, text, place)
	}
}

// descriptions returns the description at each place that needs one, "" if it is missing.
func descriptions(value any, place string) map[string]string {
	all := map[string]string{}
	add := func(one any, place string) {
		text := one.(map[string]any)["description"]
		all[place], _ = text.(string)
	}
	switch v := value.(type) {
	case []any:
		for i, one := range v {
			maps.Copy(all, descriptions(one, fmt.Sprintf("%s/%d", place, i)))
		}
	case map[string]any:
		if v["operationId"] != nil || v["in"] != nil {
			add(v, place)
		}
		for key, inner := range v {
			maps.Copy(all, descriptions(inner, place+"/"+key))
			if members, ok := inner.(map[string]any); ok && (key == "properties" || key == "headers") {
				for name, one := range members {
					add(one, place+"/"+key+"/"+name)
				}
			}
		}
	}
	return all
}
