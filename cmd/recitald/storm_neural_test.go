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

// reciter promises for installed voices: as for the ledger, and a reply is the same each time, whole or cut, whatever
// happens to the processes that make it. Places are given back.
type reciter struct {
	*speaker
	installed bool   // the voice is; without it, this is a speaker as any other
	whole     []byte // the first reply that was
}

// newReciter installs the voice, unless it is.
func newReciter(t *testing.T, at *server, v visitor) *reciter {
	t.Helper()
	if _, err := neuraltest.Library(); err != nil {
		t.Logf("NEURAL VOICES ARE NOT IN THE STORM, for want of ONNX Runtime: %v", err)
		return &reciter{speaker: newSpeaker(at, v)}
	}
	if !bytes.Contains(at.recitalctl("voices", "list"), []byte(stormVoice)) {
		folder := neuraltest.Package(t, stormVoice)
		manifest, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
		require.NoError(t, err)
		at.recitalctl("voices", "install", folder, "--sha256", fmt.Sprintf("%x", sha256.Sum256(manifest)))
	}
	return &reciter{speaker: newSpeaker(at, v), installed: true}
}

func (p *reciter) work(at *server, _ *rand.Rand) error {
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
	if a.warning != "" { // another voice has spoken, where this one was not loaded again yet
		p.outcomes["substituted"]++
		return nil
	}
	p.outcomes["recited"]++
	if p.whole == nil {
		p.whole = a.body
	}
	if !bytes.Equal(p.whole, a.body) {
		return fmt.Errorf("%s heard %d bytes, and other %d before", p.c.id, len(a.body), len(p.whole))
	}
	return nil
}

func (p *reciter) check(at *server, b books) error {
	if !p.installed {
		return p.speaker.check(at, b)
	}
	if taken := at.figure("recital_neural_streams"); taken != 0 {
		return fmt.Errorf("%g streams have a place, and nobody listens", taken)
	}
	return p.speaker.check(at, b)
}

func (p *reciter) String() string { return "reciter, a " + p.speaker.String() }
