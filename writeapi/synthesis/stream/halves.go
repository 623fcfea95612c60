package stream

import (
	"encoding/json"
	"regexp"
)

// halves joins characters beyond the basic plane that a client has cut in two. JavaScript counts such a character as two
// code units, and writes a text that ends between them with a lone escape ("\ud83c"); the next text then begins with
// the other half. UTF-8 itself cannot be cut: each message is valid by itself.
type halves struct{ high string } // the escape of a first half that waits, without its backslash

var (
	endsWithHigh = regexp.MustCompile(`(?i)^(?:[^\\]|\\.)*?(\\ud[89ab][0-9a-f]{2})"$`)
	mayHoldAHalf = regexp.MustCompile(`(?i)\\ud[89a-f]`)
)

// join gives the message with its text completed by the half that waits, and keeps back a half at its end. What is not
// a message with a text comes back as it is.
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
