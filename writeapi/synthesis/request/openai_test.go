package request_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/bind"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/writeapi/synthesis/request"
)

func TestARequestInOpenAIsTermsReachesTheSpeaker(t *testing.T) {
	decode := web.Decoder[request.OpenAI](bind.Variant{})
	voices := map[string]string{"alloy": "leah", "amy": "zeke"}
	for body, want := range map[string]struct {
		voice, model, format, contentType string
		speed                             float64
		warnings                          []string
	}{
		`"model":"aurora","voice":"leah"`: {"leah", "aurora", "mp3", "audio/mpeg", 1, nil},
		`"model":"blizzard","voice":"Alloy","response_format":"pcm"`: {"leah", "blizzard", "pcm_s16le", "audio/pcm", 1,
			nil},
		`"model":"aurora","voice":{"id":"Morgan"},"response_format":"wav","speed":2`: {"morgan", "aurora", "wav",
			"audio/wav", 2, nil},
		`"model":"aurora","voice":"ava","response_format":"opus"`: {"ava", "aurora", "ogg_opus", "audio/ogg", 1, nil},
		`"model":"aurora","voice":"ava","response_format":"flac"`: {"ava", "aurora", "flac", "audio/flac", 1, nil},
		`"model":"aurora","voice":"amy","response_format":"aac","speed":0.25`: {"zeke", "aurora", "aac", "audio/aac", 0.25,
			nil},
		`"model":"tts-1","voice":"9C4A","instructions":"Whisper.","speed":4`: {"", "aurora", "mp3", "audio/mpeg", 2,
			[]string{"model: it is unknown, and aurora speaks", "instructions: they are ignored", "speed: it is limited to 2"}},
		`"model":"aurora","voice":"leah","instructions":"","speed":null,"response_format":null`: {"leah", "aurora", "mp3",
			"audio/mpeg", 1, nil},
	} {
		t.Run(body, func(t *testing.T) {
			in, err := decode([]byte(`{"input":"hi",` + body + `}`))
			require.NoError(t, err)
			named := in.SystemVoice(voices, nil)
			translated, warnings := in.Speech(named)
			require.Equal(t, want.warnings, warnings)
			require.Equal(t, want.contentType, in.ContentType())
			order := translated.Synthesis()
			require.Equal(t, "hi", order.Text)
			require.Equal(t, want.voice, order.Voice)
			require.Equal(t, want.model, order.Model)
			require.Equal(t, speech.AutoLanguage, order.Language)
			require.EqualValues(t, want.format, order.Audio.Format)
			require.Equal(t, 24000, order.Audio.SampleRate)
			require.Equal(t, want.speed, order.Speed)
		})
	}
}

// The models in OpenAI's dialect are those of our own interface.
func TestModelsOfOpenAIsInterfaceAreOurs(t *testing.T) {
	decode := web.Decoder[request.Speech](request.Post())
	for _, model := range speech.Models() {
		_, err := decode([]byte(`{"text":"hi","voice":"leah","model":"` + model + `"}`))
		require.NoError(t, err)
	}
}
