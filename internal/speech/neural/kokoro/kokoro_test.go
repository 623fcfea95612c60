package kokoro_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/neural/family"
	"github.com/recital-tts/recital/internal/speech/neural/kokoro"
	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/speech/neural/onnx"
	"github.com/recital-tts/recital/internal/speech/neural/ort"
)

// voice has the files of a voice.
type voice struct{ model, styles []byte }

// voices returns the toy with and without noise of its own, and the voice in the folder RECITAL_TEST_KOKORO.
func voices(t *testing.T) map[string]voice {
	t.Helper()
	require.NoError(t, ort.Open(neuraltest.Runtime(t)))
	styles := neuraltest.Styles(1)
	all := map[string]voice{"noisy": {neuraltest.Kokoro(true), styles}, "quiet": {neuraltest.Kokoro(false), styles}}
	if folder := os.Getenv("RECITAL_TEST_KOKORO"); folder != "" {
		model, err := os.ReadFile(filepath.Join(folder, "voice.onnx"))
		require.NoError(t, err)
		styles, err := os.ReadFile(filepath.Join(folder, "voice.styles.bin"))
		require.NoError(t, err)
		all["real"] = voice{model, styles}
	}
	return all
}

func split(file []byte) (kokoro.Parts, error) {
	g, err := onnx.Parse(file)
	if err != nil {
		return kokoro.Parts{}, err
	}
	return kokoro.Split(g)
}

func load(t *testing.T, of voice) *kokoro.Voice {
	t.Helper()
	parts, err := split(of.model)
	require.NoError(t, err)
	m, err := kokoro.Load(parts)
	require.NoError(t, err)
	v, err := m.With(of.styles)
	require.NoError(t, err)
	return v
}

func someIDs(count int) []int64 {
	random := rand.New(rand.NewPCG(1, uint64(count)))
	ids := []int64{0}
	for range count {
		ids = append(ids, 43+random.Int64N(25)) // letters
	}
	return append(ids, 0)
}

func TestThePartsAreTheWhole(t *testing.T) {
	for name, of := range voices(t) {
		t.Run(name, func(t *testing.T) {
			parts, err := split(of.model)
			require.NoError(t, err)
			v := load(t, of)
			compared, err := family.Compare(v, parts.Whole, [][]int64{someIDs(1), someIDs(30)})
			require.NoError(t, err)
			require.Less(t, compared.Decibels, -100.0)
		})
	}
}

func TestTheNoiseIsThatOfTheSeed(t *testing.T) {
	for name, of := range voices(t) {
		t.Run(name, func(t *testing.T) {
			v := load(t, of)
			speak := func(seed uint64) []float32 {
				s, err := v.Encode(t.Context(), someIDs(20), family.Noise{Sound: 1, Seed: seed})
				require.NoError(t, err)
				samples, err := s.Samples(family.Round(s.Durations))
				require.NoError(t, err)
				return samples
			}
			first := speak(7)
			require.Equal(t, first, speak(7))
			require.NotEqual(t, first, speak(8))
		})
	}
}

func TestAFrameHasASpan(t *testing.T) {
	v := load(t, voices(t)["noisy"])
	s, err := v.Encode(t.Context(), someIDs(9), family.Noise{Sound: 1})
	require.NoError(t, err)
	require.Len(t, s.Durations, 11)
	for _, frames := range [][]int{{1, 0, 2, 0, 0, 3, 1, 1, 1, 1, 1}, {0, 0, 40, 0, 0, 0, 0, 0, 0, 0, 0}} {
		count, err := family.Count(frames)
		require.NoError(t, err)
		samples, err := s.Samples(frames)
		require.NoError(t, err)
		require.InDelta(t, float64(count)*v.Hop(), len(samples), 0.5)
	}
}

func TestStylesAreChecked(t *testing.T) {
	v := load(t, voices(t)["quiet"])
	good := neuraltest.Styles(1)
	notANumber := append([]byte{0, 0, 0xc0, 0x7f}, good[4:]...)
	for name, styles := range map[string][]byte{"none": nil, "short": good[4:], "not a number": notANumber} {
		_, err := v.With(styles)
		require.ErrorContains(t, err, "styles", name)
	}
}

func TestWhatIsNoKokoroIsRefused(t *testing.T) {
	for name, file := range map[string][]byte{"nothing": nil, "text": []byte("no model"), "vits": neuraltest.Toy()} {
		_, err := split(file)
		require.Error(t, err, name)
	}
	_, err := split(neuraltest.Toy())
	require.ErrorContains(t, err, "tokens, style and speed")
}

func TestEnglishIsSpeltAsKokoroKnowsIt(t *testing.T) {
	for ipa, want := range map[string]string{
		"kwˈɪk": "kwˈɪk", "bɹˈaʊn": "bɹˈWn", "dʒˈʌmps": "ʤˈʌmps", "ˌoʊvɚ": "ˌOvəɹ", "lˈeɪzi": "lˈAzi", "fˈɑːks": "fˈɑks",
		"wˈɜːld": "wˈɜɹld", "sˈɛvən": "sˈɛvən", "lˈɪɾəl": "lˈɪTᵊl", "ɐ": "ə",
	} {
		require.Equal(t, want, kokoro.Respell("en-us", ipa))
	}
	require.Equal(t, "ɡˈQ", kokoro.Respell("en-gb", "ɡˈəʊ"))
	require.Equal(t, "nˈoʧe", kokoro.Respell("es", "nˈotʃe"))
}

func FuzzSplit(f *testing.F) {
	f.Add(neuraltest.Kokoro(true))
	f.Add(neuraltest.Toy())
	f.Fuzz(func(t *testing.T, file []byte) {
		if parts, err := split(file); err == nil && len(parts.Encoder.Model) == 0 {
			t.Error("a part is empty")
		}
	})
}
