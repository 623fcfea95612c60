package speech_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
)

// An installed voice of Mandarin or Japanese gets Pinyin or kana, like espeak-ng.
func TestAnInstalledVoiceIsGivenWhatIsRead(t *testing.T) {
	for _, c := range []struct{ language, text, spoken string }{
		{"cmn", "银行。", " yin2 hang2。"}, {"ja", "東京へ行く。", " トーキョー エ イク。"},
	} {
		engine, voice := &reader{}, cloneOf("1", 1, 1)
		voice.Installed.Languages = []string{c.language}
		speaker := speech.NewSpeaker(&reader{}).WithJapanese(toTokyo()).
			WithInstalled(installed{engine, map[string]string{"1": "leah"}})
		_, warning := readAll(t, speaker, speech.Request{Text: c.text, Language: c.language, Voice: voice})
		require.Empty(t, warning)
		require.Equal(t, c.spoken, engine.jobs[0].Text)
	}
}
