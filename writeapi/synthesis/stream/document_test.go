package stream_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web/openapi"
	"github.com/recital-tts/recital/writeapi/synthesis/stream"
)

const documentName = "asyncapi.json"

// described is /asyncapi.json, and the schemas of the messages in each direction.
type described struct {
	document any
	schemas  map[string][]*jsonschema.Schema // by the action: receive, send, or open for the first message
}

// theDocument reads the document as a client would. Messages of the server may have only documented keys.
var theDocument = sync.OnceValues(func() (*described, error) {
	written, err := openapi.WriteSockets(openapi.Info{Title: "Speech", Version: "1", Server: "https://speech.example"},
		(&stream.API{}).Routes())
	if err != nil {
		return nil, err
	}
	d := &described{schemas: map[string][]*jsonschema.Schema{}}
	if d.document, err = jsonschema.UnmarshalJSON(bytes.NewReader(written)); err != nil {
		return nil, err
	}
	var shape struct {
		Operations map[string]struct {
			Action   string
			Messages []struct {
				Ref string `json:"$ref"`
			}
		}
		Components struct {
			Messages map[string]struct{ ContentType string }
			Schemas  map[string]map[string]any
		}
	}
	if err := json.Unmarshal(written, &shape); err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(documentName, closed(d.document)); err != nil {
		return nil, err
	}
	for _, operation := range shape.Operations {
		for _, m := range operation.Messages {
			name := m.Ref[strings.LastIndex(m.Ref, "/")+1:]
			if shape.Components.Messages[name].ContentType != "application/json" {
				continue
			}
			schema, err := compiler.Compile(documentName + "#/components/messages/" + name + "/payload")
			if err != nil {
				return nil, err
			}
			action := operation.Action
			if name == "opening" {
				action = "open"
			}
			d.schemas[action] = append(d.schemas[action], schema)
		}
	}
	return d, nil
})

// closed forbids undocumented keys, except in the messages of clients.
func closed(document any) any {
	schemas := document.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)
	for name, schema := range schemas {
		if name != "Opening" && name != "ClientMessage" {
			schema.(map[string]any)["additionalProperties"] = false
		}
	}
	return document
}

// check returns an error unless a message fits one of the document's messages for the action.
func (d *described) check(action, message string) error {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(message))
	if err != nil {
		return err
	}
	if action == "receive" {
		value = ofOldClients(value)
		if fields, ok := value.(map[string]any); ok && fields["voice"] != nil {
			action = "open"
		}
	}
	for _, schema := range d.schemas[action] {
		if err = schema.Validate(value); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s is no message of %s: %w", message, documentName, err)
}

// ofOldClients converts numbers and booleans in strings, as published clients send them, to the document's types.
func ofOldClients(value any) any {
	fields, ok := value.(map[string]any)
	if !ok {
		return value
	}
	for key, one := range fields {
		text, ok := one.(string)
		if !ok || key == "text" || key == "voice" || key == "lmnt-version" {
			continue
		}
		if truth, err := strconv.ParseBool(strings.ToLower(text)); err == nil && len(text) > 1 {
			fields[key] = truth
		} else if _, err := strconv.ParseFloat(text, 64); err == nil {
			fields[key] = json.Number(text)
		}
	}
	return fields
}

// The schema is the AsyncAPI initiative's, without its descriptions and the bindings of other protocols.
func TestTheDocumentIsAsyncAPI(t *testing.T) {
	packed, err := os.Open("testdata/asyncapi-3.0.0.json.gz")
	require.NoError(t, err)
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	require.NoError(t, err)
	published, err := jsonschema.UnmarshalJSON(unpacked)
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("http://asyncapi.com/definitions/3.0.0/asyncapi.json", published))
	schema, err := compiler.Compile("http://asyncapi.com/definitions/3.0.0/asyncapi.json")
	require.NoError(t, err)
	d, err := theDocument()
	require.NoError(t, err)
	require.NoError(t, schema.Validate(d.document))
	require.Len(t, d.schemas["open"], 2)
	require.Len(t, d.schemas["receive"], 2)
	require.Len(t, d.schemas["send"], 16)

	broken := d.document.(map[string]any)["channels"]
	require.Error(t, schema.Validate(map[string]any{"asyncapi": "3.0.0", "channels": broken}), "without a title")
}

func TestTheDocumentRefusesWhatIsNoMessage(t *testing.T) {
	d, err := theDocument()
	require.NoError(t, err)
	for _, message := range []string{`{"type":"ready"}`, `{"durations":[]}`, `{"error":7}`, `{"type":"pong"}`,
		`{"error":"no","more":1}`, `[]`} {
		require.Error(t, d.check("send", message), message)
	}
	for _, message := range []string{`{"type":"pong"}`, `{"text":7}`, `{"voice":"leah","format":"ogg"}`, `[]`} {
		require.Error(t, d.check("receive", message), message)
	}
}
