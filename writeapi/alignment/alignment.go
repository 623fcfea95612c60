// Package alignment serves the routes that find the words of a text in a recording of it. They need no credential and
// append no event, so their cost is limited by address and in total.
package alignment

import (
	"bytes"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/quota"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/alignment"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/writeapi"
)

const (
	// MaxBody is the size of ten minutes of 16-bit samples at 16 kHz, with a margin.
	MaxBody = 20 << 20
	// timeout covers the decoding and the comparison of the longest recording on a busy machine.
	timeout = 2 * time.Minute
)

// API aligns recordings.
type API struct {
	Aligner alignment.Aligner
	Places  *quota.Budget // of concurrent recordings, in total and of each address
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	options := func(summary, description string) []web.Option {
		return []web.Option{
			web.Public(), web.AppendsNothing(), web.MaxBody(MaxBody), web.Timeout(timeout), web.Tag("Speech"),
			web.Summary(summary),
			web.Description(description + limits), web.Returns[[]alignedWord](), web.Refuses(http.StatusTooManyRequests),
		}
	}
	return []web.Route{
		web.Post("/v1/ai/speech/kanna", a.plain, options("Find the words of a text in a recording",
			"The words of the text in order, each with its place in the recording.")...),
		web.Post("/v1/ai/speech/kanna_improved", a.improved,
			append(options("The same, with the phonemes of each word",
				"As kanna, with the phonemes of each word and their places."), web.Forms())...),
	}
}

const limits = ` A recording that sounds hardly more like the text than like its words in another order is refused
(422). The recording (wav, mp3, aac, m4a, mp4, ogg, opus, webm or flac, recognised by its content) lasts at most ten
minutes. No credential is needed, so work is limited: one recording of each address at once (429), few in all (503).`

type plainRequest struct {
	Text     string `query:"text" required:"true" minlen:"1" maxlen:"10000" doc:"The text of the recording." example:"Hello, how are you today?"`
	Language string `query:"language" default:"auto" doc:"The text's language; auto detects it." example:"en"`
	Body     []byte `raw:"body" required:"true"`
}

func (a *API) plain(call *web.Call, in plainRequest) (web.Reply, error) {
	words, err := a.align(call, recording{bytes.NewReader(in.Body), ""}, in.Text, in.Language)
	if err != nil {
		return web.Reply{}, err
	}
	for i := range words {
		words[i].Phonemes = nil
	}
	return web.JSON(words), nil
}

type improvedRequest struct {
	Text     string   `body:"text" required:"true" minlen:"1" maxlen:"10000" doc:"The text of the recording." example:"Hello, how are you today?"`
	Language string   `body:"language" default:"auto" doc:"The text's language; auto detects it." example:"en"`
	Audio    web.File `body:"audio" required:"true" doc:"The recording." example:"the bytes of recording.wav"`
}

func (a *API) improved(call *web.Call, in improvedRequest) (web.Reply, error) {
	words, err := a.align(call, recording{in.Audio.Content, "audio"}, in.Text, in.Language)
	if err != nil {
		return web.Reply{}, err
	}
	return web.JSON(words), nil
}

// recording is the content of an input with a name, "" for a raw body.
type recording struct {
	content audio.Upload
	name    string
}

// alignedWord is an object of the reply. All times are in seconds.
type alignedWord struct {
	Text       string    `json:"text" doc:"The word."`
	Start      float64   `json:"start" doc:"Seconds from the start of the recording."`
	Duration   float64   `json:"duration" doc:"Seconds that the word lasts."`
	Confidence float64   `json:"confidence" doc:"0 to 1: how much the recording resembles the word there."`
	Phonemes   []phoneme `json:"phonemes,omitempty" doc:"Only of kanna_improved."`
}

type phoneme struct {
	Phoneme  string  `json:"phoneme" doc:"The phoneme, in the notation of the engine."`
	Start    float64 `json:"start" doc:"Seconds from the start of the recording."`
	Duration float64 `json:"duration" doc:"Seconds that the phoneme lasts."`
}

func (a *API) align(call *web.Call, r recording, text, code string) ([]alignedWord, error) {
	language, known := speech.LookupLanguage(code)
	if !known {
		return nil, call.Invalid("language", "the engine does not speak this language")
	}
	place, err := writeapi.TakePlace(call, a.Places, "aligned")
	if err != nil {
		return nil, err
	}
	defer place.Release()
	words, err := a.Aligner.Align(call, r.content, text, language)
	if err != nil {
		return nil, explain(call, err, r.name)
	}
	return show(words), nil
}

// explain translates an error about an input into a 422.
func explain(call *web.Call, err error, recording string) error {
	var unusable *audio.UnusableError
	var other *alignment.OtherTextError
	switch {
	case errors.As(err, &unusable):
		return call.Invalid(recording, unusable.Message)
	case errors.As(err, &other):
		return call.Invalid("text", other.Error())
	case errors.Is(err, alignment.ErrNoSpeech):
		return call.Invalid(recording, "The recording holds no speech")
	case errors.Is(err, alignment.ErrNoWords):
		return call.Invalid("text", "The text has no words that can be spoken")
	case errors.Is(err, alignment.ErrTooMuchText):
		return call.Invalid("text", "The text takes much longer to speak than a recording may last")
	}
	return err
}

func show(words []alignment.Word) []alignedWord {
	shown := make([]alignedWord, len(words))
	for i, w := range words {
		shown[i] = alignedWord{Text: w.Text, Start: rounded(w.Start), Duration: rounded(w.End - w.Start),
			Confidence: rounded(w.Confidence)}
		for _, p := range w.Phonemes {
			shown[i].Phonemes = append(shown[i].Phonemes, phoneme{Phoneme: p.Name, Start: rounded(p.Start),
				Duration: rounded(p.End - p.Start)})
		}
	}
	return shown
}

// rounded rounds to milliseconds.
func rounded(value float64) float64 { return math.Round(1000*value) / 1000 }
