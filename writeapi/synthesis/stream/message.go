package stream

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/bind"
)

// action is the request of a message, in addition to its text.
type action int

const (
	nothing action = iota
	flush
	reset
	finish
)

// message is a message after the first one. The text comes before the action.
type message struct {
	text   string
	action action
	nonce  *int64 // of flush and reset; nil if the client sent none
}

// parser parses the messages of all dialects. It keeps half a character from one message to the next.
type parser struct{ halves halves }

// parse parses a message. Its errors name the wrong field, and never repeat the input.
func (p *parser) parse(raw []byte) (message, error) {
	document, err := bind.ParseObject(p.halves.join(raw))
	if syntax, is := errors.AsType[*bind.SyntaxError](err); is {
		return message{}, refuse("message", "JSON decode error: "+syntax.Msg)
	}
	if err != nil {
		return message{}, refuse("message", "Input should be a valid dictionary")
	}
	return read(document)
}

// ends checks the end of a text: half a character before a flush or the end is an error, and one before a reset is
// dropped.
func (p *parser) ends(a action) error {
	waiting := p.halves.high != ""
	switch {
	case a == reset:
		p.halves = halves{}
	case a != nothing && waiting:
		return refuse("text", "The text ends within a character")
	}
	return nil
}

// refuse returns an error in the words of pydantic, like the published service.
func refuse(field, why string) error {
	return &web.Error{Status: http.StatusUnprocessableEntity, Message: field + ": " + why}
}

func read(document bind.Object) (m message, err error) {
	hasText, err := readText(document, &m)
	if err != nil {
		return message{}, err
	}
	asked, err := readAction(document, &m)
	if err != nil {
		return message{}, err
	}
	if !hasText && !asked {
		return message{}, refuse("message", "Input should hold text, flush, reset or an end")
	}
	m.nonce, err = readNonce(document)
	return m, err
}

func readText(document bind.Object, m *message) (found bool, err error) {
	value, found := present(document, "text")
	switch {
	case !found:
		return false, nil
	case value.Kind != bind.String:
		return true, refuse("text", "Input should be a valid string")
	case value.BadText:
		return true, refuse("text", "Input should be a valid string, unable to parse raw data as a unicode string")
	case strings.Contains(value.Text, "\x00"):
		return true, refuse("text", "Value error, a text must not contain the character NUL (U+0000)")
	}
	m.text = value.Text
	return true, nil
}

// present returns a value that is not null.
func present(document bind.Object, key string) (bind.Value, bool) {
	value, found := document.Get(key)
	if !found || value.Kind == bind.Null {
		return bind.Value{}, false
	}
	return value, true
}

// readAction accepts the words of every dialect: flags ({"flush": true}), commands and types.
func readAction(document bind.Object, m *message) (asked bool, err error) {
	for _, flag := range []struct {
		key    string
		action action
	}{{"flush", flush}, {"eof", finish}} {
		value, found := present(document, flag.key)
		if !found {
			continue
		}
		set, ok := truth(value)
		if !ok {
			return true, refuse(flag.key, "Input should be a valid boolean")
		}
		asked = true
		if set {
			m.action = flag.action
		}
	}
	for _, key := range []string{"command", "type"} {
		value, found := present(document, key)
		if !found {
			continue
		}
		asked = true
		if err := readWord(document, key, value, m); err != nil {
			return true, err
		}
	}
	return asked, nil
}

func truth(value bind.Value) (set, ok bool) {
	switch {
	case value.Kind == bind.Bool:
		return value.Text == "true", true
	case value.Kind == bind.String && strings.EqualFold(value.Text, "true"):
		return true, true
	case value.Kind == bind.String && strings.EqualFold(value.Text, "false"):
		return false, true
	}
	return false, false
}

func readWord(document bind.Object, key string, value bind.Value, m *message) error {
	if value.Kind != bind.String {
		return refuse(key, "Input should be a valid string")
	}
	switch value.Text {
	case "flush":
		m.action = flush
	case "reset":
		m.action = reset
	case "eof", "finish":
		m.action = finish
	case "text":
		if _, found := present(document, "text"); !found {
			return refuse("text", "Field required")
		}
	case "init":
		return refuse(key, "The session has begun already")
	default:
		return refuse(key, "Input should be 'text', 'flush', 'reset', 'eof' or 'finish'")
	}
	return nil
}

// readNonce accepts everything that pydantic accepts as an integer.
func readNonce(document bind.Object) (*int64, error) {
	value, found := present(document, "nonce")
	if !found {
		return nil, nil
	}
	if value.Kind == bind.Int || value.Kind == bind.String {
		if n, err := strconv.ParseInt(value.Text, 10, 64); err == nil {
			return &n, nil
		}
	}
	if value.Kind == bind.Float {
		if f, err := strconv.ParseFloat(value.Text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			n := int64(f)
			return &n, nil
		}
	}
	return nil, refuse("nonce", "Input should be a valid integer")
}

// halves joins characters beyond the basic plane that a client has cut in two. JavaScript counts such a character as
// two code units, and writes a text that ends between them with a lone escape ("\ud83c"); the next text then begins
// with the other half. UTF-8 itself cannot be cut: each message is valid by itself.
type halves struct{ high string } // the escape of a waiting first half, without its backslash

var (
	endsWithHigh = regexp.MustCompile(`(?i)^(?:[^\\]|\\.)*?(\\ud[89ab][0-9a-f]{2})"$`)
	mayHoldAHalf = regexp.MustCompile(`(?i)\\ud[89a-f]`)
)

// join returns the message with its text completed by the waiting half, and keeps back a half at its end. A message
// without a text is returned unchanged.
func (h *halves) join(raw []byte) []byte {
	if h.high == "" && !mayHoldAHalf.Match(raw) {
		return raw
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return raw
	}
	text, found := members["text"]
	if !found || len(text) < 2 || text[0] != '"' {
		return raw
	}
	if h.high != "" && len(text) > 2 {
		// Without its other half it is refused as a lone one, as it would be at the end of a text.
		text = append([]byte(`"\`+h.high), text[1:]...)
		h.high = ""
	}
	if match := endsWithHigh.FindSubmatchIndex(text); match != nil {
		h.high = string(text[match[2]+1 : match[3]])
		text = append(text[:match[2]:match[2]], '"')
	}
	members["text"] = text
	joined, err := json.Marshal(members)
	if err != nil {
		return raw
	}
	return joined
}
