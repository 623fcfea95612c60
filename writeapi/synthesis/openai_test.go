package synthesis

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
)

// askOpenAI is a request in OpenAI's dialect, and its error: type, param and code.
func askOpenAI(t *testing.T, server, key, body string) (status int, kind, param, code string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, server+"/v1/audio/speech", strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	var got struct {
		Error struct{ Message, Type, Param, Code string }
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&got))
	require.NotEmpty(t, got.Error.Message)
	return response.StatusCode, got.Error.Type, got.Error.Param, got.Error.Code
}

func TestRefusalsInOpenAIsDialect(t *testing.T) {
	server := serve(t)
	for name, c := range map[string]struct {
		key, body         string
		status            int
		kind, param, code string
	}{
		"no key":        {"", `{}`, 401, "invalid_request_error", "", "invalid_api_key"},
		"no model":      {"any", `{"input":"hi","voice":"leah"}`, 400, "invalid_request_error", "model", "missing_required_parameter"},
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
			status, kind, param, code := askOpenAI(t, server, c.key, c.body)
			require.Equal(t, c.status, status)
			require.Equal(t, []string{c.kind, c.param, c.code}, []string{kind, param, code})
		})
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
