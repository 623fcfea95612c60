package main_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/bintest"
)

// generatorTime is the environment variable with the duration of make fuzz. Without it a few requests are generated for
// each operation.
const generatorTime = "RECITAL_GENERATE"

// Requests that schemathesis generates from the description, with and without a key, get described replies. The
// exclusions and their reasons are in its configuration.
func TestGeneratedRequestsAreAnsweredAsDescribed(t *testing.T) {
	if testing.Short() {
		t.Skip("one of the longest scenarios: it fetches schemathesis with pip")
	}
	python := installGenerator(t)
	g := generator{start(t, dataFolder(t), "--address-rate=0", "--account-rate=enterprise=0"), python, t.TempDir()}
	if duration := os.Getenv(generatorTime); duration != "" {
		spent, err := time.ParseDuration(duration)
		require.NoError(t, err)
		seconds := strconv.Itoa(int(spent.Seconds()))
		g.run("examples,coverage", "with a key")
		g.run("stateful", "with a key", "--max-examples=100")
		g.run("fuzzing", "with a key", "--max-time="+seconds)
		g.run("examples,coverage", "without")
		return
	}
	g.run("examples,fuzzing,stateful", "with a key", "--max-examples=3", "--seed=1")
	g.run("fuzzing", "without", "--max-examples=1", "--seed=1")
}

// generator is schemathesis, pointed to a server.
type generator struct {
	server *server
	python string
	folder string
}

// generatorVersion is the version of schemathesis.
const generatorVersion = "4.32.5"

// installGenerator returns the Python of an environment with schemathesis, which is kept for later runs. If PyPI is
// unreachable, the test is skipped.
func installGenerator(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	kept := filepath.Join(cache, "recital", "schemathesis-"+generatorVersion)
	python := filepath.Join("bin", "python")
	if exec.Command(filepath.Join(kept, python), "-m", "schemathesis.cli", "--version").Run() != nil {
		require.NoError(t, os.RemoveAll(kept))
		require.NoError(t, os.MkdirAll(filepath.Dir(kept), 0o700))
		folder, err := os.MkdirTemp(filepath.Dir(kept), "schemathesis-")
		require.NoError(t, err)
		runProgram(t, folder, bintest.Tool(t, "python3"), "-m", "venv", ".")
		install := exec.CommandContext(t.Context(), filepath.Join(folder, python), "-m", "pip", "install", "--quiet",
			"schemathesis=="+generatorVersion)
		if said, err := install.CombinedOutput(); err != nil {
			_ = os.RemoveAll(folder)
			t.Skipf("schemathesis cannot be fetched from PyPI: %s", said)
		}
		require.NoError(t, os.Rename(folder, kept)) // a Python environment can be moved
	}
	return filepath.Join(kept, python)
}

// authSections matches the part of the configuration with an account's key.
var authSections = regexp.MustCompile(`(?ms)^\[auth\..*?\n\n`)

// run generates requests with or without a key. The test fails if schemathesis finds an error, but later runs still
// take place.
func (g generator) run(phases, as string, args ...string) {
	t := g.server.t
	t.Helper()
	config := read(t, filepath.Join("testdata", "schemathesis.toml"))
	require.Regexp(t, authSections, config)
	if as == "without" {
		config = authSections.ReplaceAllString(config, "")
	}
	path := filepath.Join(g.folder, "schemathesis.toml")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	command := exec.CommandContext(t.Context(), g.python, append([]string{"-m", "schemathesis.cli",
		"--config-file=" + path, "run", g.server.address + "/openapi.json", "--phases=" + phases,
		"--no-color", "--generation-database=none"}, args...)...)
	command.Dir, command.Env = g.folder, append(bintest.Environment(), "RECITAL_KEY="+g.server.key)
	found, err := command.CombinedOutput()
	assert.NoError(t, err, "%s %s: %s", phases, as, found)
	account := do(t, g.server.operator().request(http.MethodGet, "/v1/account", nil))
	assert.Equal(t, http.StatusOK, account.status, "a request has revoked the key, so later requests tested nothing")
	t.Logf("%s %s: %s", phases, as, regexp.MustCompile(`\d+ generated.*`).Find(found))
}
