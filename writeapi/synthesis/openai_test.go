package synthesis

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/internal/speech"
)

// openAIRefusal is an error in OpenAI's dialect.
type openAIRefusal struct {
	status                     int
	Message, Type, Param, Code string
}

// speakOpenAI returns the refusal of a request in OpenAI's dialect.
func speakOpenAI(t *testing.T, server, key, body string) openAIRefusal {
	t.Helper()
	if key != "" {
		key = "Bearer " + key
	}
	response, reply := webtest.Send(t, http.MethodPost, server+"/v1/audio/speech", body,
		"Content-Type", "application/json", "Authorization", key)
	var got struct{ Error openAIRefusal }
	require.NoError(t, json.Unmarshal([]byte(reply), &got))
	require.NotEmpty(t, got.Error.Message)
	got.Error.status = response.StatusCode
	return got.Error
}

func TestRefusalsInOpenAIsDialect(t *testing.T) {
	server := serve(t)
	for name, c := range map[string]struct {
		key, body         string
		status            int
		kind, param, code string
	}{
		"no key": {"", `{}`, 401, "invalid_request_error", "", "invalid_api_key"},
		"no model": {"any", `{"input":"hi","voice":"leah"}`, 400, "invalid_request_error", "model",
			"missing_required_parameter"},
		"no such voice": {"any", `{"model":"tts-1","input":"hi","voice":"nobody"}`, 404, "invalid_request_error", "", ""},
		"no such format": {"any", `{"model":"tts-1","input":"hi","voice":"leah","response_format":"ogg"}`, 400,
			"invalid_request_error", "response_format", "invalid_value"},
		"too fast": {"any", `{"model":"tts-1","input":"hi","voice":"leah","speed":4.1}`, 400, "invalid_request_error",
			"speed", "invalid_value"},
		"too long": {"any", `{"model":"tts-1","voice":"leah","input":"` + strings.Repeat("ä", 5001) + `"}`, 400,
			"invalid_request_error", "input", "string_above_max_length"},
		"too large": {"any", `{"model":"tts-1","voice":"leah","input":"` + strings.Repeat("a", maxBody) + `"}`, 413,
			"invalid_request_error", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := speakOpenAI(t, server, c.key, c.body)
			require.Equal(t, c.status, got.status)
			require.Equal(t, []string{c.kind, c.param, c.code}, []string{got.Type, got.Param, got.Code})
		})
	}
}

// names has the ids of voices by their names.
type names map[string][]string

func (n names) Named(_ context.Context, _, name string) ([]string, error) {
	if name == "One of too many" {
		return nil, domain.Refuse(domain.Invalid, "The account has too many voices")
	}
	return n[name], nil
}

// asked refuses every voice by its id.
type asked struct{}

func (asked) Speaking(_ context.Context, _, id string) (speech.Voice, error) {
	return speech.Voice{}, domain.Refuse(domain.NotFound, "asked for "+id)
}

func TestOwnVoicesHaveNamesInOpenAIsDialect(t *testing.T) {
	const id = "0123456789abcdef"
	api := &API{
		Synthesiser: &synthesis.Synthesiser{Voices: asked{}}, OpenAIVoices: map[string]string{"alloy": "leah"},
		VoiceNames: names{"My voice": {"1"}, "Twin": {"2", "3"}, "alloy": {"4"}, "Zeke": {"5"}, id: {"6"}},
	}
	server := webtest.Serve(t, web.Config{Routes: api.Routes(), Authenticator: anyKey{}})
	for voice, want := range map[string]openAIRefusal{
		`"My voice"`:        {status: 404, Message: "asked for 1"},
		`{"id":"My voice"}`: {status: 404, Message: "asked for 1"},
		`"alloy"`:           {status: 404, Message: "asked for leah"},
		`"Zeke"`:            {status: 404, Message: "asked for zeke"},
		`"` + id + `"`:      {status: 404, Message: "asked for " + id},
		`"nobody"`:          {status: 404, Message: "asked for nobody"},
		`"One of too many"`: {status: 400, Message: "The account has too many voices"},
		`"Twin"`: {status: 400, Param: "voice", Code: "invalid_value",
			Message: "voice: Value error, several voices of the account have this name: use the id of one"},
	} {
		got := speakOpenAI(t, server, "any", `{"model":"aurora","input":"hi","voice":`+voice+`}`)
		want.Type = "invalid_request_error"
		require.Equal(t, want, got, voice)
	}
}

func TestModelsAreListedAsOpenAIDoes(t *testing.T) {
	status, body := ask(t, http.MethodGet, serve(t)+"/v1/models")
	require.Equal(t, 200, status)
	var list struct {
		Object string
		Data   []struct {
			ID, Object string
			Created    int64
			OwnedBy    string `json:"owned_by"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &list))
	require.Equal(t, "list", list.Object)
	var ids []string
	for _, one := range list.Data {
		require.Equal(t, "model", one.Object)
		require.Equal(t, "recital", one.OwnedBy)
		ids = append(ids, one.ID)
	}
	require.Equal(t, speech.Models(), ids)
}
