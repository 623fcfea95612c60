package neural_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/speech/pinyin"
)

// symbols are those of Kokoro-82M.
const symbols = `;:,.!?—…"()“” ` + "\u0303" + `ʣʥʦʨᵝꭧAIOQSTWYᵊabcdefhijklmnopqrstuvwxyzɑɐɒæβɔɕçɖðʤəɚɛɜɟɡɥɨɪʝɯɰŋɳɲɴøɸθœɹɾɻʁɽ` +
	`ʂʃʈʧʊʋʌɣɤχʎʒʔˈˌːʰʲ↓→↗↘ᵻ`

func TestKokoroHasASymbolForEachSoundOfItsLanguages(t *testing.T) {
	folder := neuraltest.KokoroFolder(t, toy.ID)
	ids := map[string]int64{}
	for i, symbol := range []rune(symbols) {
		ids[string(symbol)] = int64(i + 1)
	}
	content, err := json.Marshal(map[string]any{"vocab": ids})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "voice.onnx.json"), content, 0o600))
	process := ready(t, folder)
	for language, text := range texts(t) {
		checked := check(t, process, language, text)
		require.Empty(t, checked.Missing, language)
	}
}

// texts returns a long text in each language of Kokoro's, as the front end spells it.
func texts(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile("../reporttest/texts/calibration.tsv")
	require.NoError(t, err)
	all := map[string]string{}
	for line := range strings.Lines(string(content)) {
		language, text, _ := strings.Cut(strings.TrimSpace(line), "\t")
		switch language {
		case "en-us", "en-gb", "es", "fr-fr", "hi", "it", "pt-br", "ja":
			all[language] = text
		case "cmn":
			all[language] = inPinyin(text) + "WiFi。"
		}
	}
	require.Len(t, all, 9)
	return all
}

func inPinyin(text string) string {
	var out strings.Builder
	letters := []rune(text)
	for i, syllable := range pinyin.Spell(letters) {
		if syllable == "" {
			out.WriteRune(letters[i])
			continue
		}
		out.WriteString(" " + syllable)
	}
	return out.String()
}
