package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// examplesAreAnswered sends the example of each operation. The client checks every reply against the description.
func (s *server) examplesAreAnswered(t *testing.T) {
	d := s.description()
	recording := do(t, s.operator().request(http.MethodGet,
		"/v1/ai/speech?format=wav&voice=leah&text=Hello,+how+are+you+today?", nil)).body
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	rows := slices.Sorted(slices.Values(d.operations()))
	last := func(row string) bool { return row == "DELETE /v1/account" || row == "POST /drain" }
	slices.SortStableFunc(rows, func(a, b string) int {
		switch {
		case last(a) && !last(b):
			return 1
		case last(b) && !last(a):
			return -1
		}
		return 0
	})
	c := s.openAccount("pro")
	for _, row := range rows {
		method, path, _ := strings.Cut(row, " ")
		o := d.Paths[path][strings.ToLower(method)]
		if o.WebSocket || path == eventsRoute { // an endless reply
			continue
		}
		t.Run(row, func(t *testing.T) {
			request := o.example(t, d, method, s.address+path, recording)
			request.Header.Set("x-api-key", c.key)
			response, err := client.Do(request.WithContext(t.Context()))
			require.NoError(t, err)
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NotContains(t, []int{http.StatusUnprocessableEntity, http.StatusInternalServerError,
				http.StatusNotImplemented}, response.StatusCode, string(body))
		})
	}
}

// example builds a request from an operation's examples. Required parameters have one. The recording replaces the
// example of a file.
func (o operation) example(t *testing.T, d description, method, address string, file []byte) *http.Request {
	t.Helper()
	query, header := url.Values{}, http.Header{}
	for _, p := range o.Parameters {
		if p.Example == nil {
			require.False(t, p.Required, "%s has no example", p.Name)
			continue
		}
		switch value := fmt.Sprint(p.Example); p.In {
		case "path":
			address = strings.ReplaceAll(address, "{"+p.Name+"}", url.PathEscape(value))
		case "query":
			query.Set(p.Name, value)
		case "header":
			header.Set(p.Name, value)
		}
	}
	var body bytes.Buffer
	if content := o.RequestBody.Content; len(content) > 0 {
		header.Set("Content-Type", content[0].encode(t, d, &body, file))
	}
	request, err := http.NewRequest(method, address+"?"+query.Encode(), &body)
	require.NoError(t, err)
	maps.Copy(request.Header, header)
	return request
}

// encode writes a body's example and returns its content type.
func (m media) encode(t *testing.T, d description, body *bytes.Buffer, file []byte) (contentType string) {
	t.Helper()
	fields, _ := m.Example.(map[string]any)
	shape := d.Components.Schemas[words(m.Schema)]
	for _, name := range shape.Required {
		require.Contains(t, fields, name, "no example")
	}
	switch m.name {
	case "application/json":
		require.NotNil(t, m.Example)
		require.NoError(t, json.NewEncoder(body).Encode(m.Example))
	case "application/x-www-form-urlencoded":
		form := url.Values{}
		for name, value := range fields {
			form.Set(name, strings.Trim(fmt.Sprint(value), "[]"))
		}
		body.WriteString(form.Encode())
	case "multipart/form-data":
		form := multipart.NewWriter(body)
		for name, value := range fields {
			if strings.HasSuffix(words(shape.Properties[name]), "binary") {
				part, err := form.CreateFormFile(name, "recording.wav")
				require.NoError(t, err)
				_, err = part.Write(file)
				require.NoError(t, err)
				continue
			}
			require.NoError(t, form.WriteField(name, fmt.Sprint(value)))
		}
		require.NoError(t, form.Close())
		return form.FormDataContentType()
	default:
		body.Write(file)
	}
	return m.name
}
