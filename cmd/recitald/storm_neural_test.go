package main_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
)

// stormVoice is the id of the installed voice.
const stormVoice = "toy"

// neuralChecker checks installed voices: a reply is the same each time, or a prefix if it is cut, and no place is lost.
type neuralChecker struct {
	*usageChecker
	installed bool   // without the voice this is a usageChecker
	whole     []byte // the first complete reply
}

// newNeuralChecker installs the voice unless it is installed.
func newNeuralChecker(t *testing.T, at *server, v stormClient) *neuralChecker {
	t.Helper()
	if _, err := neuraltest.Library(); err != nil {
		t.Logf("NEURAL VOICES ARE NOT IN THE STORM without ONNX Runtime: %v", err)
		return &neuralChecker{usageChecker: newUsageChecker(at, v)}
	}
	if !bytes.Contains(at.recitalctl("voices", "list"), []byte(stormVoice)) {
		folder := neuraltest.Package(t, stormVoice)
		manifest, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
		require.NoError(t, err)
		at.recitalctl("voices", "install", folder, "--sha256", fmt.Sprintf("%x", sha256.Sum256(manifest)))
	}
	return &neuralChecker{usageChecker: newUsageChecker(at, v), installed: true}
}

func (p *neuralChecker) work(at *server, _ *rand.Rand) error {
	s := speech{bytesRoute, "pcm_s16le", 700}
	if !p.installed {
		return p.speak(at, s)
	}
	o := s.order()
	o["voice"], o["seed"], o["language"] = stormVoice, 1, "en"
	a := p.c.at(at).tryOrder(p.client, s, o)
	if err := p.count(a); err != nil || !a.clean() {
		return err
	}
	if a.warning != "" { // another voice was used, because this one was not loaded yet
		p.outcomes["substituted"]++
		return nil
	}
	p.outcomes["recited"]++
	if p.whole == nil {
		p.whole = a.body
	}
	if !bytes.Equal(p.whole, a.body) {
		return fmt.Errorf("%s received %d bytes that differ from the earlier %d", p.c.id, len(a.body), len(p.whole))
	}
	return nil
}

func (p *neuralChecker) check(at *server, b books) error {
	if !p.installed {
		return p.usageChecker.check(at, b)
	}
	if taken := at.figure("recital_neural_streams"); taken != 0 {
		return fmt.Errorf("%g streams have a place without a client", taken)
	}
	return p.usageChecker.check(at, b)
}

func (p *neuralChecker) String() string { return "neural voices, " + p.usageChecker.String() }
