package stream

import (
	_ "embed"
	"strconv"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/bind"
	"github.com/recital-tts/recital/writeapi/synthesis/request"
)

// protocol is part of the description of the interface, because OpenAPI cannot describe WebSockets.
//
//go:embed protocol.md
var protocol string

// opening describes the first message. Its fields other than those of request.Speech choose the dialect, see dialectOf.
type opening struct {
	request.Speech
	Type            *string `in:"type" literal:"init" doc:"May be sent from version 1.1 on."`
	Version         *string `in:"lmnt-version" doc:"The version that the client speaks. From 1.1 on, messages have types; from 1.2 on, times add up."`
	ProtocolVersion *int    `in:"protocol_version" doc:"2 selects the messages with commands, in version 1.0."`
}

// clientMessage describes a message after the first one.
type clientMessage struct {
	Type    *string `json:"type" literal:"text,flush,reset,eof,finish" doc:"The kind of message, in version 1.1. The message text has a text."`
	Text    *string `json:"text" doc:"More text to speak, divided anywhere. It precedes the message's other request."`
	Command *string `json:"command" literal:"text,flush,reset,eof,finish" doc:"The request of the message, with protocol_version 2."`
	Flush   *bool   `json:"flush" doc:"Speaks the text so far, in version 1.0."`
	EOF     *bool   `json:"eof" doc:"Speaks the rest and ends the session, in version 1.0."`
	Nonce   *int64  `json:"nonce" doc:"A number that the acknowledgement of a flush or a reset returns."`
}

// messages declares the messages of the socket in all dialects.
func messages(r *web.Route) {
	web.ReceivesMessages(
		web.InputMessage[opening]("opening", "The first message, with the credential and the voice", request.Socket(),
			request.Meanings()),
		web.JSONMessage[clientMessage]("clientMessage", "Text, or a command"),
	)(r)
	web.SendsMessages(
		web.Message{Name: "audio", Summary: "A part of the audio, of at most 64 KiB, in the requested format"},
		web.JSONMessage[ready]("ready", "The reply to a valid opening, in version 1.1"),
		web.JSONMessage[timestamps]("timestamps", "The word times of the previous audio, in version 1.1, on request"),
		web.JSONMessage[acknowledged]("acknowledged", "A flush or a reset is done, in version 1.1"),
		web.JSONMessage[typedError]("error", "Why the session ends, in version 1.1"),
		web.JSONMessage[pairedExtras]("pairedExtras", "The word times of the next audio, in version 1.0, on request"),
		web.JSONMessage[extras]("extras", "The word times of the next audio, with protocol_version 2, on request"),
		web.JSONMessage[complete]("complete", "A flush or a reset is done, with protocol_version 2"),
		web.JSONMessage[plainError]("plainError", "Why the session ends, in version 1.0"),
	)(r)
}

// wantsTimes reports whether the client requested the times of words, in the words of its dialect.
func wantsTimes(in request.Speech, d dialect) bool {
	if d.hasTypes() {
		return in.WantsTimes()
	}
	return in.WantsExtras()
}

// dialectOf returns the dialect of a first message, even of an invalid one, so that the client understands the error.
// isObject is false if it is not a JSON object.
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
	version := web.ParseDialect(text("lmnt-version"))
	switch {
	case version == web.V12:
		return adding, true
	case version == web.V11, text("lmnt-version") == "" && text("type") == "init":
		return typed, true // clients of 1.0 know no types, so a client that sends one without a version waits for a ready
	}
	if revision, err := strconv.Atoi(text("protocol_version")); err == nil && revision >= 2 {
		return commanded, true
	}
	return plain, true
}
