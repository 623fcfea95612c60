package stream

import (
	"strconv"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/bind"
	"github.com/recital-tts/recital/writeapi/synthesis/request"
)

// wantsTimes reports whether the client asked for the times of words, in the words of its dialect.
func wantsTimes(in request.Speech, d dialect) bool {
	if d == typed {
		return in.WantsTimes()
	}
	return in.WantsExtras()
}

// dialectOf finds the dialect of a first message, whatever else is wrong with it, so that its error is understood. It is
// false for what is no JSON object.
func dialectOf(message []byte) (d dialect, isObject bool) {
	document, err := bind.ParseObject(message)
	if err != nil {
		return plain, false
	}
	text := func(key string) string {
		if value, ok := document.Get(key); ok {
			return value.Text
		}
		return ""
	}
	// Clients of 1.0 know no types, so who sends one without a version waits for a ready.
	if web.ParseDialect(text("lmnt-version")) == web.V11 || text("lmnt-version") == "" && text("type") == "init" {
		return typed, true
	}
	if version, err := strconv.Atoi(text("protocol_version")); err == nil && version >= 2 {
		return commanded, true
	}
	return plain, true
}
