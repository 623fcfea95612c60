package architecture_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The second identity provider is for tests only; neither it nor its dependencies are linked into the programs.
func TestTheProgramsContainNoProviderOfTests(t *testing.T) {
	require.Contains(t, linked(t, "recitald"), "github.com/coreos/go-oidc/v3/oidc", "the dependencies were not listed")
	for _, p := range packages(t) {
		if within(p.path(), "cmd") && p.Name == "main" {
			for _, of := range strings.Fields("github.com/zitadel/ github.com/go-chi/") {
				require.NotContains(t, strings.Join(p.Deps, "\n"), of, p.path())
			}
		}
	}
}

// The Japanese dictionary takes about 100 MB of memory, so only japanesereader links it.
func TestRecitaldContainsNoDictionaryOfJapanese(t *testing.T) {
	for program, contains := range map[string]bool{"recitald": false, "recitalctl": false, "japanesereader": true} {
		require.Equal(t, contains, strings.Contains(linked(t, program), "github.com/ikawaha/kagome"), program)
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
		contained := linked(t, program)
		require.Equal(t, contains, strings.Contains(contained, "onnxruntime_go"), program)
		require.False(t, contains && strings.Contains(contained, module+"internal/speech/espeak"), "nor the GPL's code")
	}
}

// The stand-ins for providers in mode dev are a separate program, which production does not need.
func TestRecitaldContainsNoStandIn(t *testing.T) {
	contained := linked(t, "recitald") + linked(t, "recitalctl")
	require.Contains(t, contained, module+"internal/standins\n", "the dependencies were not listed")
	require.NotContains(t, contained, module+"internal/standins/")
	dockerfile, err := os.ReadFile("../../Dockerfile")
	require.NoError(t, err)
	require.NotContains(t, string(dockerfile), "standins", "and images of production do not contain it")
}
