// Package request declares each parameter of a request for speech once, for all forms of requests.
package request

import (
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/internal/http/web/bind"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/writeapi"
)

// Speech is the union of the parameters that published clients send. Keys that are not listed are ignored.
type Speech struct {
	Key              string   `in:"X-API-Key" for:"socket" alias:"x-api-key"`
	Text             string   `in:"text" for:"post,get,beta" required:"true" minlen:"1" maxlen:"5000" example:"Hello, how are you today?"`
	Voice            string   `in:"voice" required:"true" example:"leah"`
	Model            *string  `in:"model" for:"post,get,socket" default:"aurora" literal:"aurora,blizzard,blizzard-2.0,blizzard-2.1,blizzard-dialogue"`
	Language         Language `in:"language" for:"post,get,socket" default:"auto"`
	Format           string   `in:"format" post.alias:"response_format" default:"mp3" beta.default:"wav" literal:"aac,mp3,raw,wav,ulaw,webm,pcm_s16le,pcm_f32le" synonyms:"mulaw=ulaw"`
	SampleRate       *int     `in:"sample_rate" for:"post,get,socket" enum:"8000,16000,24000"`
	Speed            float64  `in:"speed" default:"1" ge:"0.25" le:"2"`
	Seed             *int64   `in:"seed" get.after:"solver"`
	Conversational   *bool    `in:"conversational" for:"post,get,socket" nullable:"true"`
	Temperature      *float64 `in:"temperature" for:"post,get,socket" nullable:"true" ge:"0.0001" le:"5"`
	TopK             *int     `in:"top_k" for:"post,get,socket" nullable:"true" ge:"0"`
	TopP             *float64 `in:"top_p" for:"post,get,socket" nullable:"true" ge:"0" le:"1"`
	Length           *float64 `in:"length" for:"post,get,beta" nullable:"true" ge:"0.1" le:"300"`
	Expressive       *float64 `in:"expressive" for:"post,get,socket" nullable:"true"`
	Quality          *int     `in:"quality" for:"post,get,socket" nullable:"true"`
	Solver           *string  `in:"solver" for:"post,get,socket" nullable:"true"`
	Extras           string   `in:"extras" for:"beta"` // "alignment" adds the word times
	SendExtras       *bool    `in:"send_extras" for:"socket" alias:"return_extras"`
	Debug            *bool    `in:"debug" for:"post,get" default:"false" get.after:"delay_headers"`
	ReturnDurations  *bool    `in:"return_durations" for:"post" alias:"durations" default:"false"`
	ReturnTimestamps *bool    `in:"return_timestamps" for:"post,get,socket" default:"false"`
	DelayHeaders     *bool    `in:"delay_headers" for:"get" default:"false"`
	OriginalText     *string  `in:"original_text" for:"post,get" nullable:"true"`
	OriginalLanguage *string  `in:"original_language" for:"post,get" nullable:"true"`
}

// Post is a body, of JSON or a form.
func Post() bind.Variant { return variants().Variant("post") }

// Get is a query.
func Get() bind.Variant { return variants().Variant("get") }

// Beta is the body of clients of version 0, a form.
func Beta() bind.Variant { return variants().Variant("beta") }

// Socket is the first message of a session.
func Socket() bind.Variant { return variants().Variant("socket") }

func variants() bind.Variants {
	return bind.Variants{"post": "body", "get": "query", "beta": "body", "socket": "body"}
}

// Language is a language that the engine speaks.
type Language struct {
	Asked  string // as the client wrote it; "" for auto
	Engine string // the engine's name
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Language) UnmarshalText(text []byte) error {
	engine, known := speech.LookupLanguage(string(text))
	if nearest := speech.NearestLanguage(string(text)); !known && nearest != "" {
		return errors.New("the engine does not speak this language; the nearest that it speaks is " + nearest)
	}
	if !known {
		return errors.New("the engine does not speak this language")
	}
	l.Engine = engine
	if engine != speech.AutoLanguage {
		l.Asked = strings.TrimSpace(string(text))
	}
	return nil
}

// Synthesis returns the command for the request.
func (s Speech) Synthesis() synthesis.Synthesis {
	spec := audio.Spec{Format: audio.Format(s.Format)}
	spec.SampleRate = writeapi.ValueOr(s.SampleRate, audio.DefaultSampleRate(spec.Format))
	return synthesis.Synthesis{
		Text: s.Text, Voice: s.Voice, Language: s.Language.Engine, Speed: s.Speed, Length: writeapi.ValueOr(s.Length, 0),
		Model: writeapi.ValueOr(s.Model, ""), Prosody: s.prosody(),
		Seed: writeapi.ValueOr(s.Seed, 0), Audio: spec, Save: s.saveOptions(),
	}
}

func (s Speech) prosody() speech.Prosody {
	return speech.Prosody{
		Conversational: writeapi.ValueOr(s.Conversational, false),
		Temperature:    s.Temperature,
		TopP:           s.TopP,
		TopK:           s.TopK,
		Expressive:     s.Expressive,
		Quality:        s.Quality,
		Solver:         writeapi.ValueOr(s.Solver, ""),
	}
}

// saveOptions returns the part of the request that a clip stores in addition to the text.
func (s Speech) saveOptions() synthesis.SaveOptions {
	return synthesis.SaveOptions{
		Debug: writeapi.ValueOr(s.Debug, false), Language: s.Language.Asked,
		OriginalText:     writeapi.ValueOr(s.OriginalText, ""),
		OriginalLanguage: writeapi.ValueOr(s.OriginalLanguage, ""),
	}
}

// WithSeed returns the request with a seed: its own, or a new one that reproduces the audio.
func (s Speech) WithSeed() Speech {
	if s.Seed == nil {
		s.Seed = new(int64(rand.Int32()))
	}
	return s
}

// WantsTimes reports whether the reply has the times of words.
func (s Speech) WantsTimes() bool {
	return writeapi.ValueOr(s.ReturnDurations, false) || writeapi.ValueOr(s.ReturnTimestamps, false) || s.Extras != ""
}

// WantsExtras reports whether a session of version 1.0 has the times of words.
func (s Speech) WantsExtras() bool { return writeapi.ValueOr(s.SendExtras, false) }

// Meanings returns a line on each parameter. docs/speech-parameters.md has the details.
func Meanings() map[string]string {
	return map[string]string{
		"text":  "The text to speak: characters are Unicode code points. One that begins with `<speak` is SSML.",
		"voice": "The id of the voice.",
		"model": "The model, which chooses engine and delivery.",
		"language": "The language of the text: a code such as `en`, `de` or `pt-BR`, or `auto`, which " +
			"detects it.",
		"format": "The encoding of the audio. `ulaw` is in a WAV container, `webm` has " +
			"Opus, `raw` is `pcm_s16le`.",
		"sample_rate": "Samples a second. 24000 by default, 8000 for `ulaw`.",
		"speed":       "A factor on the voice's own pace.",
		"length":      "The duration of the audio in seconds, instead of `speed`.",
		"seed": "Selects one of the possible renderings. The reply returns it, and the same " +
			"seed results in the same bytes.",
		"temperature":    "How far phrases deviate from the voice's own delivery.",
		"top_p":          "Keeps only the most likely deviations that together have this probability.",
		"top_k":          "The number of most likely deviations that are kept; 0 keeps all.",
		"expressive":     "How wide the intonation is: 0 is monotone, 1 the voice's own.",
		"conversational": "A conversational delivery.",
		"quality":        "How finely delivery varies: 0 by segments, 1 by sentences, 2 by clauses.",
		"solver":         "How a phrase follows the ones before: `euler`, `midpoint`, `heun`, `rk4` or `dopri5`.",
		"debug": "Also saves the result as a clip, with its id in `x-clip-id`. With a " +
			"session every result is saved.",
		"return_durations":  "Adds the word times to a reply in JSON.",
		"return_timestamps": "Adds the word times to a reply in JSON. With audio alone, `x-timestamps-url` is their address.",
		"delay_headers":     "Sends the headers only when audio is available, so that an earlier failure is a status.",
		"original_text":     "The original of `text`, a translation: shown with the clip that `debug` saves.",
		"original_language": "The language of `original_text`: shown with the clip that `debug` saves.",
		"X-API-Key":         "The API key. Without one, the header `x-api-key` or the cookie of the handshake is used.",
		"send_extras":       "Adds the word times, in version 1.0.",
		"extras":            "`alignment` adds the word times.",
	}
}
