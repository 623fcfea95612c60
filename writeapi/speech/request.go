package speech

import (
	"math/rand/v2"

	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/internal/audio"
	port "github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/web"
)

// request is the union of what published clients send; keys that are not listed are ignored.
type request struct {
	Text             string   `body:"text" required:"true" minlen:"1" maxlen:"5000"`
	Voice            string   `body:"voice" required:"true" minlen:"1" maxlen:"64"`
	Model            *string  `body:"model" default:"aurora" literal:"aurora,blizzard,blizzard-2.0,blizzard-2.1,blizzard-dialogue"`
	Language         string   `body:"language" default:"auto" maxlen:"35"`
	Format           string   `body:"format" alias:"response_format" default:"mp3" literal:"aac,mp3,raw,wav,ulaw,webm,pcm_s16le,pcm_f32le" synonyms:"mulaw=ulaw"`
	SampleRate       *int     `body:"sample_rate" enum:"8000,16000,24000"`
	Speed            float64  `body:"speed" default:"1" ge:"0.25" le:"2"`
	Seed             *int64   `body:"seed"`
	Conversational   *bool    `body:"conversational"`
	Temperature      *float64 `body:"temperature" ge:"0.0001" le:"5"`
	TopK             *int     `body:"top_k" ge:"0"`
	TopP             *float64 `body:"top_p" ge:"0" le:"1"`
	Length           *float64 `body:"length" ge:"0.1" le:"300"`
	Expressive       *float64 `body:"expressive"`
	Quality          *int     `body:"quality"`
	Solver           *string  `body:"solver"`
	Debug            *bool    `body:"debug" default:"false"`
	ReturnDurations  *bool    `body:"return_durations" alias:"durations" default:"false"`
	ReturnTimestamps *bool    `body:"return_timestamps" default:"false"`
	OriginalText     *string  `body:"original_text"`
	OriginalLanguage *string  `body:"original_language"`
}

// synthesis is the command for a valid request.
func (r request) synthesis() (commands.Synthesis, error) {
	language, known := port.LookupLanguage(r.Language)
	if !known {
		return commands.Synthesis{}, web.Invalid(web.InvalidField("body", "language", "the engine does not speak this language"))
	}
	voice, err := commands.FindVoice(r.Voice)
	if err != nil {
		return commands.Synthesis{}, err
	}
	spec := audio.Spec{Format: audio.Format(r.Format)}
	spec.SampleRate = audio.DefaultSampleRate(spec.Format)
	if r.SampleRate != nil {
		spec.SampleRate = *r.SampleRate
	}
	order := commands.Synthesis{
		Text: r.Text, Voice: voice, Language: language, Speed: r.Speed, Model: orEmpty(r.Model), Prosody: r.prosody(), Seed: r.seed(),
		Audio: spec, Keep: r.keepsake(),
	}
	if r.Length != nil {
		order.Length = *r.Length
	}
	return order, nil
}

func (r request) prosody() port.Prosody {
	return port.Prosody{
		Conversational: r.Conversational != nil && *r.Conversational,
		Temperature:    r.Temperature,
		TopP:           r.TopP,
		TopK:           r.TopK,
		Expressive:     r.Expressive,
		Quality:        r.Quality,
		Solver:         orEmpty(r.Solver),
	}
}

// seed is the one that the client asked for, or one to ask for the same audio again.
func (r request) seed() int64 {
	if r.Seed != nil {
		return *r.Seed
	}
	return int64(rand.Int32())
}

func (r request) wantsTimes() bool {
	return r.ReturnDurations != nil && *r.ReturnDurations || r.ReturnTimestamps != nil && *r.ReturnTimestamps
}
