package stream

import (
	_ "embed"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi/synthesis/request"
)

// protocol is part of the description of the interface, because OpenAPI cannot describe WebSockets.
//
//go:embed protocol.md
var protocol string

// opening describes the first message. The fields beside those of request.Speech choose the dialect, see dialectOf.
type opening struct {
	request.Speech
	Type            *string `in:"type" literal:"init" doc:"May be sent from version 1.1 on."`
	Version         *string `in:"lmnt-version" doc:"The version that the client speaks. From 1.1 on, messages have types."`
	ProtocolVersion *int    `in:"protocol_version" doc:"2 selects the messages with commands, in version 1.0."`
}

// clientMessage describes a message after the first one.
type clientMessage struct {
	Type    *string `json:"type" literal:"text,flush,reset,eof,finish" doc:"What the message is, in version 1.1. The message text has a text."`
	Text    *string `json:"text" doc:"More text to speak, divided anywhere. It comes before what else the message requests."`
	Command *string `json:"command" literal:"text,flush,reset,eof,finish" doc:"What the message requests, with protocol_version 2."`
	Flush   *bool   `json:"flush" doc:"Speaks the text so far, in version 1.0."`
	EOF     *bool   `json:"eof" doc:"Speaks the rest and ends the session, in version 1.0."`
	Nonce   *int64  `json:"nonce" doc:"A number that the acknowledgement of a flush or a reset returns."`
}

// messages declares what is sent on the socket in all dialects.
func messages(r *web.Route) {
	web.ReceivesMessages(
		web.InputMessage[opening]("opening", "The first message, with the credential and the voice", request.Socket(), request.Meanings()),
		web.JSONMessage[clientMessage]("clientMessage", "Text, or what to do with it"),
	)(r)
	web.SendsMessages(
		web.Message{Name: "audio", Summary: "A part of the audio, of at most 64 KiB, in the format that was requested"},
		web.JSONMessage[ready]("ready", "The answer to a good opening, in version 1.1"),
		web.JSONMessage[timestamps]("timestamps", "The word times of the audio before it, in version 1.1, on request"),
		web.JSONMessage[acknowledged]("acknowledged", "A flush or a reset is done, in version 1.1"),
		web.JSONMessage[typedError]("error", "Why the session ends, in version 1.1"),
		web.JSONMessage[pairedExtras]("pairedExtras", "The word times of the audio after it, in version 1.0, on request"),
		web.JSONMessage[extras]("extras", "The word times of the audio after it, with protocol_version 2, on request"),
		web.JSONMessage[complete]("complete", "A flush or a reset is done, with protocol_version 2"),
		web.JSONMessage[plainError]("plainError", "Why the session ends, in version 1.0"),
	)(r)
}
