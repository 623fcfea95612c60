package neuraltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/recital-tts/recital/internal/testing/bintest"
)

// find returns the path of ONNX Runtime's library, or an error if it can neither be found nor downloaded.
var find = sync.OnceValues(func() (string, error) {
	module, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	script := exec.Command(filepath.Join(filepath.Dir(strings.TrimSpace(string(module))), "deploy", "onnxruntime.sh"))
	if _, err := os.Stat(script.Path); err != nil { // so tests run again when it has changed
		return "", err
	}
	var problems bytes.Buffer
	script.Stderr = &problems
	path, err := script.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, problems.String())
	}
	library := strings.TrimSpace(string(path))
	_, err = os.Stat(library)
	return library, err
})

// Library returns the path of ONNX Runtime's library, or an error if it can neither be found nor downloaded.
func Library() (string, error) { return find() }

// Runtime returns the path of ONNX Runtime's library. If it can neither be found nor downloaded, the test is skipped
// and the reason is written to standard error.
func Runtime(t testing.TB) string {
	t.Helper()
	library, err := Library()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s is SKIPPED: NEURAL VOICES ARE NOT TESTED, for want of ONNX Runtime: %v\n",
			t.Name(), err)
		bintest.NotKept()
		t.Skipf("ONNX Runtime is not available: %v", err)
	}
	return library
}

// The environment variables that name packages of real voices.
const (
	VITS       = "RECITAL_TEST_VOICE"
	RealKokoro = "RECITAL_TEST_KOKORO"
)

// Weights returns the folder of a real voice's package, which the environment variable names. If the variable is not
// set, the test is skipped, with a message on standard error.
func Weights(t testing.TB, variable string) string {
	t.Helper()
	folder := os.Getenv(variable)
	if folder == "" {
		fmt.Fprintf(os.Stderr, "%s is SKIPPED: NO REAL VOICE IS MEASURED, for want of %s\n", t.Name(), variable)
		t.Skipf("%s names no package of a voice", variable)
	}
	return folder
}

// Folder returns the folder of a small voice for American English.
func Folder(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string][]byte{"voice.onnx": Toy(), "voice.onnx.json": Config()} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// Package returns the folder of a package with a small voice for American English that has an id.
func Package(t testing.TB, id string) string {
	t.Helper()
	folder := Folder(t)
	Describe(t, folder, id, "Toy")
	return folder
}

// Break replaces the model of a package with one that cannot be loaded, with a matching hash.
func Break(t testing.TB, folder string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, "voice.onnx"), Toy()[:2000], 0o600); err != nil {
		t.Fatal(err)
	}
	Describe(t, folder, "broken", "Broken")
}

// Describe writes the manifest of a folder for a voice with this id and name.
func Describe(t testing.TB, folder, id, name string) {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{"voice.onnx", "voice.onnx.json", "voice.styles.bin"} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) && name == "voice.styles.bin" {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		files[name] = fmt.Sprintf("%x", sha256.Sum256(content))
	}
	manifest, err := json.Marshal(map[string]any{
		"format": 1, "id": id, "name": name, "gender": "U", "languages": []string{"en-us"}, "licence": "CC0-1.0",
		"attribution": "Toy (made by tests)", "commercial": "yes", "files": files,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "manifest.json"), manifest, 0o600); err != nil {
		t.Fatal(err)
	}
}
