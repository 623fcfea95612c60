package request

import (
	"slices"
	"strings"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
)

// OpenAI is a request for speech in OpenAI's interface. Keys that are not listed are ignored.
type OpenAI struct {
	Model          string  `body:"model" required:"true" example:"aurora" doc:"The model, which chooses engine and delivery. An unknown one counts as \x60aurora\x60."`
	Input          string  `body:"input" required:"true" minlen:"1" maxlen:"5000" example:"Hello, how are you today?" doc:"The text to speak: characters are Unicode code points."`
	Voice          string  `body:"voice" required:"true" member:"id" example:"alloy" doc:"The id or the name of a voice, or one of the names that the server maps to system voices. A name that several voices of the account have is refused."`
	Instructions   *string `body:"instructions" doc:"Ignored."`
	ResponseFormat string  `body:"response_format" default:"mp3" literal:"mp3,opus,aac,flac,wav,pcm" doc:"The encoding of the audio. \x60opus\x60 is Opus in Ogg. \x60pcm\x60 is signed 16-bit little-endian, one channel, at 24000 Hz."`
	Speed          float64 `body:"speed" default:"1" ge:"0.25" le:"4" doc:"A factor on the voice's own pace. Above 2 it counts as 2."`
	StreamFormat   string  `body:"stream_format" default:"audio" literal:"audio,sse" doc:"With \x60sse\x60 the reply is server-sent events: \x60speech.audio.delta\x60 with a piece of the audio in base64, and at the end \x60speech.audio.done\x60 with the characters as tokens."`
}

// fastest is the maximum of Speech.Speed.
const fastest = 2

// Speech returns the request in our own terms, with the voice of an id, and a warning for each part that is not
// supported.
func (o OpenAI) Speech(voice string) (translated Speech, warnings []string) {
	if !slices.Contains(speech.Models(), o.Model) {
		o.Model = speech.ModelAurora
		warnings = append(warnings, "model: it is unknown, and "+o.Model+" speaks")
	}
	if o.Instructions != nil && *o.Instructions != "" {
		warnings = append(warnings, "instructions: they are ignored")
	}
	if o.Speed > fastest {
		o.Speed = fastest
		warnings = append(warnings, "speed: it is limited to 2")
	}
	return Speech{
		Text: o.Input, Voice: voice, Model: &o.Model, Speed: o.Speed, Format: string(o.Format()),
		Language: Language{Engine: speech.AutoLanguage},
	}, warnings
}

// Format returns the format of the audio.
func (o OpenAI) Format() audio.Format {
	switch o.ResponseFormat {
	case "pcm":
		return audio.PCMS16LE
	case "opus":
		return audio.OggOpus
	}
	return audio.Format(o.ResponseFormat)
}

// PCMType is the media type of pcm in OpenAI's interface.
const PCMType = "audio/pcm"

// ContentType returns the media type of the audio. Clients of OpenAI's interface use another one for pcm than ours.
func (o OpenAI) ContentType() string {
	if o.ResponseFormat == "pcm" {
		return PCMType
	}
	return o.Format().ContentType()
}

// SystemVoice returns the id of the system voice that a client names, or "" for none. voices maps other names, in lower
// case, to ids of system voices. The names of system voices in catalogue are their ids with a capital.
func (o OpenAI) SystemVoice(voices map[string]string, catalogue *speech.Catalogue) string {
	name := strings.ToLower(o.Voice)
	if id, mapped := voices[name]; mapped {
		return id
	}
	if system, found := catalogue.Lookup(name); found {
		return system.ID
	}
	return ""
}
