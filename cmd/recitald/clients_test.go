package main_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Published clients, each in the first and the last version of its kind on npm. Their scripts are in
// testdata/clients; the account is charged for the text that they speak.
var publishedClients = []struct {
	packages string
	script   string
	answer   string
	said     []string
}{
	{"lmnt-node@0.0.2", "v0.mjs", `{"voices": 9, "whole": "RIFF", "streamed": true}`,
		[]string{"Hello from version zero.", "This is streamed."}},
	{"lmnt-node@1.2.0", "v1.mjs", answerOfV1, saidByV1},
	{"lmnt-node@1.2.3", "v1.mjs", answerOfV1, saidByV1},
	{"lmnt-node@2.3.0", "v2.mjs", answerOfV2, saidByV2},
	{"lmnt-node@2.11.2", "v2.mjs", answerOfV2, saidByV2},
	{"lmnt-node@2.12.0", "v2.12.mjs", `{
		"voices": 9, "voice": "Zeke", "plan": "pro", "whole": "RIFF", "words": "Hello again.",
		"streamed": {"sound": true, "words": "", "flushes": 1, "named": true},
		"streamedWithWords": {"sound": true, "words": "This is streamed. And more.", "flushes": 1, "named": true},
		"ownVoice": {"state": "ready", "owner": "me", "name": "Renamed", "shown": "Renamed", "starred": 1, "all": 10, "said": "RIFF",
			"streamed": {"sound": true, "words": "", "flushes": 1, "named": true}, "deleted": true, "gone": "NotFoundError 404 not_found_error"},
		"unknownVoice": "NotFoundError 404 not_found_error"}`,
		append([]string{"Hello again."}, saidByV2...)},
	{"@ai-sdk/lmnt@2.0.56 ai@6.0.326", "ai-sdk.mjs", `{"type": "audio/mpeg", "sound": true, "warnings": 0}`,
		[]string{"Hello from another client."}},
}

const (
	answerOfV1 = `{
		"voices": 9, "voice": "Zeke", "plan": "pro", "whole": "RIFF", "seed": 7, "words": "Hello from version one.",
		"ownVoice": {"state": "ready", "owner": "me", "name": "Renamed", "shown": "Renamed", "starred": 1, "all": 10, "said": "RIFF",
			"streamed": "", "deleted": true, "gone": "[synthesize] There is no such voice"},
		"streamed": "", "streamedWithWords": "This is streamed. And more.", "unknownVoice": "[synthesize] There is no such voice"}`
	answerOfV2 = `{
		"voices": 9, "voice": "Zeke", "plan": "pro", "whole": "RIFF",
		"ownVoice": {"state": "ready", "owner": "me", "name": "Renamed", "shown": "Renamed", "starred": 1, "all": 10, "said": "RIFF",
			"streamed": "", "deleted": true, "gone": "NotFoundError 404"},
		"streamed": "", "streamedWithWords": "This is streamed. And more.", "unknownVoice": "NotFoundError 404"}`
)

var (
	saidByV1 = append([]string{"Hello from version one."}, saidByBoth...)
	saidByV2 = append([]string{"Hello from version two."}, saidByBoth...)
	// saidByBoth is streamed without and with words, and by the client's own voice.
	saidByBoth = []string{"This is streamed. And more.", "This is streamed. And more.", "With my voice.",
		"This is streamed. And more."}
)

// TestPublishedClients runs if RECITAL_CLIENTS is set (make clients), because it needs Node and npm's packages.
func TestPublishedClients(t *testing.T) {
	if os.Getenv("RECITAL_CLIENTS") == "" {
		t.Skip("make clients runs this: it fetches the clients with npm")
	}
	s := start(t, dataFolder(t))
	recording := s.reference(t, "mp3", 200)
	for _, client := range publishedClients {
		t.Run(client.packages, func(t *testing.T) {
			account := s.openAccount("pro")
			require.JSONEq(t, client.answer, account.runClient(t, client.packages, client.script, recording))
			account.requireUsage(t, client.said)
		})
	}
}

// runClient installs a client, points it to the server and returns the output of its script, beside which the recording
// is.
func (c customer) runClient(t *testing.T, packages, script string, recording []byte) string {
	t.Helper()
	folder := t.TempDir()
	runProgram(t, folder, "npm", append([]string{"install", "--silent", "--no-audit", "--no-fund"},
		strings.Fields(packages)...)...)
	pointTo(t, filepath.Join(folder, "node_modules"), c.server.address)
	source, err := os.ReadFile(filepath.Join("testdata", "clients", script))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, script), source, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "recording.mp3"), recording, 0o600))
	return runProgram(t, folder, "node", script, "RECITAL_ADDRESS="+c.server.address, "RECITAL_KEY="+c.key)
}

// pointTo replaces the fixed address of old clients with ours.
func pointTo(t *testing.T, folder, address string) {
	t.Helper()
	host := strings.TrimPrefix(address, "http://")
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(path, "lmnt") || !strings.HasSuffix(path, "js") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pointed := bytes.ReplaceAll(source, []byte("https://api.lmnt.com"), []byte("http://"+host))
		pointed = bytes.ReplaceAll(pointed, []byte("wss://api.lmnt.com"), []byte("ws://"+host))
		return os.WriteFile(path, pointed, 0o600)
	}))
}

// runProgram returns the standard output of a program. Trailing arguments of the form NAME=value are its environment.
func runProgram(t *testing.T, folder, program string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program)
	command.Dir, command.Env = folder, os.Environ()
	for _, arg := range args {
		if strings.HasPrefix(arg, "RECITAL_") {
			command.Env = append(command.Env, arg)
			continue
		}
		command.Args = append(command.Args, arg)
	}
	var complaints strings.Builder
	command.Stderr = &complaints
	output, err := command.Output()
	require.NoError(t, err, "%s: %s", program, complaints.String())
	return string(output)
}

// requireUsage waits for what sockets settle after their end.
func (c customer) requireUsage(t *testing.T, said []string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return c.usage(t) == int64(len(strings.Join(said, "")))
	}, patience, pause)
}
