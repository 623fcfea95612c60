package openapi

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/recital-tts/recital/internal/http/web"
)

// The types have the field names of the specification (AsyncAPI 3.0.0) and what of it is used here. The service receives
// what clients send.

type socketDocument struct {
	AsyncAPI   string                    `json:"asyncapi"`
	Info       socketInfo                `json:"info"`
	Servers    map[string]socketServer   `json:"servers,omitempty"`
	Channels   map[string]*channel       `json:"channels"`
	Operations map[string]*socketTraffic `json:"operations"`
	Components socketComponents          `json:"components"`
}

type socketInfo struct {
	Title       string        `json:"title"`
	Version     string        `json:"version"`
	Description string        `json:"description"`
	License     socketLicense `json:"license"`
}

type socketLicense struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

type socketServer struct {
	Host     string `json:"host"`
	Protocol string `json:"protocol"`
	PathName string `json:"pathname,omitempty"`
}

type channel struct {
	Address     string               `json:"address"`
	Summary     string               `json:"summary"`
	Description string               `json:"description,omitempty"`
	Messages    map[string]reference `json:"messages"`
	Bindings    any                  `json:"bindings"`
}

type socketTraffic struct {
	Action   string      `json:"action"`
	Summary  string      `json:"summary"`
	Channel  reference   `json:"channel"`
	Messages []reference `json:"messages"`
}

type reference struct {
	Ref string `json:"$ref"`
}

type socketComponents struct {
	Messages map[string]*message    `json:"messages"`
	Schemas  map[string]*jsonSchema `json:"schemas"`
}

type message struct {
	Name        string      `json:"name"`
	Summary     string      `json:"summary"`
	ContentType string      `json:"contentType"`
	Payload     *jsonSchema `json:"payload"`
}

// WriteSockets describes the WebSockets among the routes in AsyncAPI 3.0. It is nil where there are none.
func WriteSockets(info Info, routes []web.Route) ([]byte, error) {
	w := newWriter()
	doc := socketDocument{
		AsyncAPI: "3.0.0",
		Info: socketInfo{
			info.Title, info.Version, "The WebSockets of the service. Its other routes are described by `/openapi.json`.",
			socketLicense{"Apache 2.0", "https://www.apache.org/licenses/LICENSE-2.0"},
		},
		Servers: socketServers(info.Server), Channels: map[string]*channel{}, Operations: map[string]*socketTraffic{},
		Components: socketComponents{Messages: map[string]*message{}, Schemas: w.components.Schemas},
	}
	for i := range routes {
		if !routes[i].IsSocket() {
			continue
		}
		if err := w.addSocket(&doc, &routes[i]); err != nil {
			return nil, fmt.Errorf("describing the socket %s: %w", routes[i].Path, err)
		}
	}
	if len(doc.Channels) == 0 {
		return nil, nil
	}
	return encode(doc)
}

func socketServers(address string) map[string]socketServer {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" {
		return nil
	}
	return map[string]socketServer{"public": {
		Host: at.Host, Protocol: strings.Replace(at.Scheme, "http", "ws", 1), PathName: strings.TrimRight(at.Path, "/"),
	}}
}

func (w *writer) addSocket(doc *socketDocument, r *web.Route) error {
	name := strings.TrimPrefix(operationID(r.Method, r.Path), "get")
	id := strings.ToLower(name[:1]) + name[1:]
	ch := &channel{
		Address: r.Path, Summary: r.Summary, Description: r.Description, Messages: map[string]reference{},
		Bindings: map[string]any{"ws": map[string]any{"method": r.Method, "bindingVersion": "0.1.0"}},
	}
	doc.Channels[id] = ch
	for _, m := range slices.Concat(r.Received, r.Sent) {
		described, err := w.message(m)
		if err != nil {
			return fmt.Errorf("the message %s: %w", m.Name, err)
		}
		doc.Components.Messages[m.Name] = described
		ch.Messages[m.Name] = reference{"#/components/messages/" + m.Name}
	}
	traffic := func(action, summary string, messages []web.Message) *socketTraffic {
		t := &socketTraffic{Action: action, Summary: summary, Channel: reference{"#/channels/" + id}}
		for _, m := range messages {
			t.Messages = append(t.Messages, reference{"#/channels/" + id + "/messages/" + m.Name})
		}
		return t
	}
	doc.Operations["receive"+name] = traffic("receive", "What clients send", r.Received)
	doc.Operations["send"+name] = traffic("send", "What clients receive", r.Sent)
	return nil
}

func (w *writer) message(m web.Message) (described *message, err error) {
	described = &message{Name: m.Name, Summary: m.Summary, ContentType: "application/json"}
	switch {
	case m.Of == nil:
		described.ContentType = "application/octet-stream"
		described.Payload = &jsonSchema{Type: "string", Format: "binary"}
	case m.Input:
		described.Payload, err = w.inputMessage(m)
	default:
		described.Payload, err = w.components.schemaOf(m.Of)
	}
	return described, err
}

// inputMessage describes a first message as the body of a route.
func (w *writer) inputMessage(m web.Message) (*jsonSchema, error) {
	plan, err := m.Variant.Compile(m.Of)
	if err != nil {
		return nil, err
	}
	object := &jsonSchema{Type: "object", Properties: map[string]*jsonSchema{}}
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
	return &jsonSchema{Ref: "#/components/schemas/" + name}, nil
}
