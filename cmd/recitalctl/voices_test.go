package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/speech/voicepack"
)

func TestAVoiceIsInstalledTestedAndRemoved(t *testing.T) {
	t.Parallel()
	library := neuraltest.Runtime(t)
	a, dataDir := startRecitald(t, func(c *app.Config) { c.ONNXRuntime, c.NeuralMemory = library, 512 })
	environment := []string{
		"RECITAL_ADMIN_ADDR=" + a.AdminAddr(), "RECITAL_HTTP_ADDR=" + a.PublicAddr(), "RECITAL_DATA_DIR=" + dataDir,
	}
	folder := neuraltest.Package(t, "toy")
	p, err := voicepack.Open(os.DirFS(folder))
	require.NoError(t, err)

	got := recitalctl(t, environment, "voices", "install", folder, "--sha256", strings.Repeat("0", 64))
	require.Equal(t, 1, got.code)
	require.Contains(t, got.notes, p.SHA256, "it says which hash the package has")

	got = recitalctl(t, environment, "voices", "install", folder, "--sha256", p.SHA256)
	require.Zero(t, got.code, got.notes)
	got = recitalctl(t, environment, "voices", "list")
	require.Zero(t, got.code, got.notes)
	require.Regexp(t, `(?m)^toy +Toy +en-us +CC0-1.0 +yes +0.\d\d +\d+ +true$`, got.out)
	got = recitalctl(t, environment, "voices", "test", "toy")
	require.Zero(t, got.code, got.notes)
	require.Regexp(t, `(?m)^toy .* none$`, got.out, "it knows all symbols")
	got = recitalctl(t, environment, "doctor")
	require.Contains(t, got.out, "the installed voices run: all 1 run")

	got = recitalctl(t, environment, "voices", "remove", "toy", "--yes")
	require.Zero(t, got.code, got.notes)
	got = recitalctl(t, environment, "voices", "remove", "toy", "--yes")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.notes, "No such voice is installed")
}
