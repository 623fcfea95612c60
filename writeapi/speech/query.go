package speech

import "github.com/recital-tts/recital/internal/web"

// query is the request of GET /v1/ai/speech: the same as a body says, in the query.
type query struct {
	Text             string   `query:"text" required:"true" minlen:"1" maxlen:"5000"`
	Voice            string   `query:"voice" required:"true" minlen:"1" maxlen:"64"`
	Model            *string  `query:"model" default:"aurora" literal:"aurora,blizzard,blizzard-2.0,blizzard-2.1,blizzard-dialogue"`
	Language         string   `query:"language" default:"auto" maxlen:"35"`
	Format           string   `query:"format" default:"mp3" literal:"aac,mp3,raw,wav,ulaw,webm,pcm_s16le,pcm_f32le"`
	SampleRate       *int     `query:"sample_rate" enum:"8000,16000,24000"`
	Speed            float64  `query:"speed" default:"1" ge:"0.25" le:"2"`
	Conversational   *bool    `query:"conversational" nullable:"true"`
	Temperature      *float64 `query:"temperature" nullable:"true" ge:"0.0001" le:"5"`
	TopK             *int     `query:"top_k" nullable:"true" ge:"0"`
	TopP             *float64 `query:"top_p" nullable:"true" ge:"0" le:"1"`
	Length           *float64 `query:"length" nullable:"true" ge:"0.1" le:"300"`
	Expressive       *float64 `query:"expressive" nullable:"true"`
	Quality          *int     `query:"quality" nullable:"true"`
	Solver           *string  `query:"solver" nullable:"true"`
	Seed             *int64   `query:"seed"`
	ReturnTimestamps *bool    `query:"return_timestamps" default:"false"`
	DelayHeaders     *bool    `query:"delay_headers" default:"false"`
	Debug            *bool    `query:"debug" default:"false"`
	OriginalText     *string  `query:"original_text" nullable:"true"`
	OriginalLanguage *string  `query:"original_language" nullable:"true"`
}

func (q query) request() request {
	return request{
		Text: q.Text, Voice: q.Voice, Model: q.Model, Language: q.Language, Format: q.Format, SampleRate: q.SampleRate, Speed: q.Speed,
		Seed: q.Seed, Conversational: q.Conversational, Temperature: q.Temperature, TopK: q.TopK, TopP: q.TopP, Length: q.Length,
		Expressive: q.Expressive, Quality: q.Quality, Solver: q.Solver, Debug: q.Debug, ReturnTimestamps: q.ReturnTimestamps,
		OriginalText: q.OriginalText, OriginalLanguage: q.OriginalLanguage,
	}
}

// get answers the audio, as POST /v1/ai/speech/bytes does.
func (a *API) get(call *web.Call, in query) (web.Reply, error) {
	return a.stream(call, in.request(), in.DelayHeaders != nil && *in.DelayHeaders)
}
