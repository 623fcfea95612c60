package stream

import (
	"strconv"

	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/internal/audio"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/internal/web/jsontree"
)

// opening is the first message, as the union of what published clients send. Keys that are not listed are ignored, and
// null is as good as absent.
type opening struct {
	Key              string   `body:"X-API-Key" alias:"x-api-key"`
	Voice            string   `body:"voice" required:"true" minlen:"1" maxlen:"64"`
	Model            *string  `body:"model" literal:"aurora,blizzard,blizzard-2.0,blizzard-2.1,blizzard-dialogue"`
	Language         *string  `body:"language" maxlen:"35"`
	Format           *string  `body:"format" literal:"aac,mp3,raw,wav,ulaw,webm,pcm_s16le,pcm_f32le" synonyms:"mulaw=ulaw"`
	SampleRate       *int     `body:"sample_rate" enum:"8000,16000,24000"`
	Speed            *float64 `body:"speed" ge:"0.25" le:"2"`
	Seed             *int64   `body:"seed"`
	Conversational   *bool    `body:"conversational"`
	Temperature      *float64 `body:"temperature" ge:"0.0001" le:"5"`
	TopK             *int     `body:"top_k" ge:"0"`
	TopP             *float64 `body:"top_p" ge:"0" le:"1"`
	Expressive       *float64 `body:"expressive"`
	Quality          *int     `body:"quality"`
	Solver           *string  `body:"solver"`
	Extras           *bool    `body:"send_extras" alias:"return_extras"`
	ReturnTimestamps *bool    `body:"return_timestamps"`
}

// synthesis is the command for a valid opening.
func (o opening) synthesis() (commands.Synthesis, error) {
	language, known := speech.LookupLanguage(or(o.Language, speech.AutoLanguage))
	if !known {
		return commands.Synthesis{}, web.Invalid(web.InvalidField("body", "language", "the engine does not speak this language"))
	}
	voice, err := commands.FindVoice(o.Voice)
	if err != nil {
		return commands.Synthesis{}, err
	}
	spec := audio.Spec{Format: audio.Format(or(o.Format, string(audio.MP3)))}
	spec.SampleRate = or(o.SampleRate, audio.DefaultSampleRate(spec.Format))
	return commands.Synthesis{
		Voice: voice, Language: language, Speed: or(o.Speed, 1), Model: or(o.Model, speech.ModelAurora),
		Prosody: o.prosody(), Seed: or(o.Seed, 0), Audio: spec,
	}, nil
}

// prosody is that of every request for speech. A length is not among it: nobody knows how much text is to come.
func (o opening) prosody() speech.Prosody {
	return speech.Prosody{
		Conversational: or(o.Conversational, false),
		Temperature:    o.Temperature,
		TopP:           o.TopP,
		TopK:           o.TopK,
		Expressive:     o.Expressive,
		Quality:        o.Quality,
		Solver:         or(o.Solver, ""),
	}
}

// wantsTimes says whether the client asked for the times of words, in the words of its dialect.
func (o opening) wantsTimes(d dialect) bool {
	if d == typed {
		return or(o.ReturnTimestamps, false)
	}
	return or(o.Extras, false)
}

func or[T any](value *T, absent T) T {
	if value == nil {
		return absent
	}
	return *value
}

// dialectOf finds the dialect of a first message, whatever else is wrong with it, so that its error is understood. It is
// false for what is no JSON object.
func dialectOf(message []byte) (d dialect, isObject bool) {
	document, err := jsontree.Parse(message, func(key string) bool {
		return key == "lmnt-version" || key == "protocol_version" || key == "type"
	})
	if err != nil || document.Kind != jsontree.Object {
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
