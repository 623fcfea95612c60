package pinyin_test

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/pinyin"
)

//go:embed testdata/polyphones.tsv
var polyphones string

func TestLettersAreReadByTheirWords(t *testing.T) {
	cases := 0
	for line := range strings.Lines(polyphones) {
		fields := strings.Split(strings.TrimSpace(line), "\t") // kind, language, text, spoken form
		require.Len(t, fields, 4, line)
		assert.Equal(t, fields[3], strings.Join(pinyin.Spell([]rune(fields[2])), " "), fields[2])
		cases++
	}
	require.GreaterOrEqual(t, cases, 60)
}

func TestTonesChangeBesideOthers(t *testing.T) {
	for text, want := range map[string]string{
		"你好": "ni2 hao3", "不是": "bu2 shi4", "不好": "bu4 hao3", "一个": "yi2 ge4", "一天": "yi4 tian1", "一样": "yi2 yang4",
		"第一": "di4 yi1", "十一": "shi2 yi1", "一月": "yi1 yue4", "星期一": "xing1 qi1 yi1",
	} {
		assert.Equal(t, want, strings.Join(pinyin.Spell([]rune(text)), " "), text)
	}
}

func TestWhatIsNotChineseHasNoReading(t *testing.T) {
	got := pinyin.Spell([]rune("我用ChatGPT，好"))
	require.Equal(t, []string{"wo3", "yong4", "", "", "", "", "", "", "", "", "hao3"}, got)
	require.Empty(t, pinyin.Spell(nil))
}

func FuzzSpell(f *testing.F) {
	f.Add("一不一不银行〇重")
	f.Fuzz(func(t *testing.T, text string) {
		runes := []rune(text)
		require.Len(t, pinyin.Spell(runes), len(runes))
	})
}

func BenchmarkSpell(b *testing.B) {
	text := []rune(strings.Repeat("我们的银行在重庆长大便宜音乐", 350)) // 4,900 letters
	for b.Loop() {
		pinyin.Spell(text)
	}
}
