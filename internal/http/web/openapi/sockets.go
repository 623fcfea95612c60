package openapi

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/recital-tts/recital/internal/http/web"
)

// object is an object of the document, with the field names of the specification (AsyncAPI 3.0.0). "Receive" is from
// the service's point of view.
type object = map[string]any

// WriteSockets describes the WebSockets among the routes in AsyncAPI 3.0. It returns nil if there are none.
func WriteSockets(info Info, routes []web.Route) ([]byte, error) {
	w := newWriter()
	channels, operations, messages := object{}, object{}, object{}
	for i := range routes {
		r := &routes[i]
		if !r.IsSocket() {
			continue
		}
		name := strings.TrimPrefix(operationID(r.Method, r.Path), "get")
		id := strings.ToLower(name[:1]) + name[1:]
		refs, err := w.addMessages(messages, slices.Concat(r.Received, r.Sent))
		if err != nil {
			return nil, fmt.Errorf("describing the socket %s: %w", r.Path, err)
		}
		channels[id] = object{
			"address": r.Path, "summary": r.Summary, "description": unwrapped(r.Description), "messages": refs,
			"bindings": object{"ws": object{"method": r.Method, "bindingVersion": "0.1.0"}},
		}
		operations["receive"+name] = traffic(id, "receive", "What clients send", r.Received)
		operations["send"+name] = traffic(id, "send", "What clients receive", r.Sent)
	}
	if len(channels) == 0 {
		return nil, nil
	}
	return encode(object{
		"asyncapi": "3.0.0",
		"info": object{
			"title": info.Title, "version": info.Version,
			"description": "The WebSockets of the service. Its other routes are described by `/openapi.json`.",
			"license":     object{"name": "Apache 2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
		},
		"servers": socketServers(info.Server), "channels": channels, "operations": operations,
		"components": object{"messages": messages, "schemas": w.components.Schemas},
	})
}

func socketServers(address string) object {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" {
		return object{}
	}
	public := object{"host": at.Host, "protocol": strings.Replace(at.Scheme, "http", "ws", 1)}
	if path := strings.TrimRight(at.Path, "/"); path != "" {
		public["pathname"] = path
	}
	return object{"public": public}
}

// addMessages describes messages and returns references to them.
func (w *writer) addMessages(known object, messages []web.Message) (refs object, err error) {
	refs = object{}
	for _, m := range messages {
		if known[m.Name], err = w.message(m); err != nil {
			return nil, fmt.Errorf("the message %s: %w", m.Name, err)
		}
		refs[m.Name] = object{"$ref": "#/components/messages/" + m.Name}
	}
	return refs, nil
}

func traffic(channel, action, summary string, messages []web.Message) object {
	var refs []object
	for _, m := range messages {
		refs = append(refs, object{"$ref": "#/channels/" + channel + "/messages/" + m.Name})
	}
	return object{
		"action": action, "summary": summary, "channel": object{"$ref": "#/channels/" + channel}, "messages": refs,
	}
}

func (w *writer) message(m web.Message) (described object, err error) {
	contentType, payload := "application/json", &jsonSchema{}
	switch {
	case m.Of == nil:
		contentType, payload = "application/octet-stream", &jsonSchema{Type: "string", Format: "binary"}
	case m.Input:
		payload, err = w.inputMessage(m)
	default:
		payload, err = w.components.schemaOf(m.Of)
	}
	return object{"name": m.Name, "summary": m.Summary, "contentType": contentType, "payload": payload}, err
}

// inputMessage returns the schema of a first message, which is like the body of a route.
func (w *writer) inputMessage(m web.Message) (*jsonSchema, error) {
	plan, err := m.Variant.Compile(m.Of)
	if err != nil {
		return nil, err
	}
	object := newObject()
	for _, f := range plan.Fields() {
		in, err := w.input(&web.Route{Meanings: m.Meanings}, f)
		if err != nil {
			return nil, fmt.Errorf("the input %s: %w", f.Name, err)
		}
		object.Properties[in.name] = in.schema
		if in.required {
			object.Required = append(object.Required, in.name)
		}
	}
	name := exported(cmp.Or(m.Of.Name(), m.Name))
	w.components.Schemas[name] = object
	return componentRef(name), nil
}
