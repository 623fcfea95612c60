package architecture_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The second identity provider is for tests only; neither it nor its dependencies are linked into the programs.
func TestTheProgramsContainNoProviderOfTests(t *testing.T) {
	linked, err := exec.Command("go", "list", "-deps", module+"cmd/...").Output()
	require.NoError(t, err)
	require.Contains(t, string(linked), "github.com/coreos/go-oidc/v3/oidc", "the dependencies were not listed")
	for _, of := range strings.Fields("github.com/zitadel/ github.com/go-chi/") {
		require.NotContains(t, string(linked), of)
	}
}

// The Japanese dictionary takes about 100 MB of memory, so only japanesereader links it.
func TestRecitaldContainsNoDictionaryOfJapanese(t *testing.T) {
	for program, contains := range map[string]bool{"recitald": false, "recitalctl": false, "japanesereader": true} {
		linked, err := exec.Command("go", "list", "-deps", module+"cmd/"+program).Output()
		require.NoError(t, err)
		require.Equal(t, contains, strings.Contains(string(linked), "github.com/ikawaha/kagome"), program)
	}
	dockerfile, err := os.ReadFile("../../Dockerfile")
	require.NoError(t, err)
	require.Contains(t, string(dockerfile), "./cmd/japanesereader", "and images of production contain the program")
}

// A fault in ONNX Runtime or in a voice costs only a neuralworker.
func TestOnlyNeuralworkerLoadsONNXRuntime(t *testing.T) {
	for program, contains := range map[string]bool{
		"recitald": false, "recitalctl": false, "speechworker": false, "neuralworker": true,
	} {
		list := exec.Command("go", "list", "-deps", module+"cmd/"+program)
		list.Env = append(os.Environ(), "CGO_ENABLED=1")
		linked, err := list.Output()
		require.NoError(t, err)
		require.Equal(t, contains, strings.Contains(string(linked), "onnxruntime_go"), program)
		require.False(t, contains && strings.Contains(string(linked), module+"internal/speech/espeak"), "nor the GPL's code")
	}
}

// The stand-ins for providers in mode dev are a separate program, which production does not need.
func TestRecitaldContainsNoStandIn(t *testing.T) {
	linked, err := exec.Command("go", "list", "-deps", module+"cmd/recitald", module+"cmd/recitalctl").Output()
	require.NoError(t, err)
	require.Contains(t, string(linked), module+"internal/standins\n", "the dependencies were not listed")
	require.NotContains(t, string(linked), module+"internal/standins/")
	dockerfile, err := os.ReadFile("../../Dockerfile")
	require.NoError(t, err)
	require.NotContains(t, string(dockerfile), "standins", "and images of production do not contain it")
}
