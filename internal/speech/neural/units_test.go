package neural

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
)

// heard returns the clauses of a text. The spelling of each word is the word.
func heard(text string) []clause {
	runes := []rune(text)
	clauses := cutClauses(runes, []speech.Phrase{speech.OwnPhrase(len(runes))})
	for i, c := range clauses {
		for _, w := range strings.Fields(string(runes[c.start : c.start+c.runes])) {
			clauses[i].words = append(clauses[i].words, word{spelling: w})
		}
	}
	return clauses
}

func TestAUnitIsASentenceOrClausesOfIt(t *testing.T) {
	u := units{words: 40, symbols: 30, pause: 0.5}
	clauses := heard("One two, three. Four five six seven, eight nine ten eleven twelve, end.")
	require.Equal(t, 2, u.next(clauses))
	require.Equal(t, 1, u.next(clauses[2:]), "no more than 30 symbols")
	require.Equal(t, 3, units{words: 40}.next(clauses[2:]), "which not all models mind")
	clauses[2].phrase.Pause, clauses[2].ends = 0.6, true
	require.Equal(t, 1, units{words: 40, pause: 0.5}.next(clauses[2:]), "a long pause ends it")
}

func TestWhatIsTooLongForAUnitIsCut(t *testing.T) {
	u := units{words: 40, symbols: 30}
	for _, text := range []string{
		strings.Repeat("word ", 40) + "end.", strings.Repeat("a", 200), "Short. " + strings.Repeat("b", 59), "a, b.", "",
	} {
		clauses := heard(text)
		var want, got string
		for _, c := range clauses {
			for _, w := range c.words {
				want += w.spelling
			}
		}
		short := u.cut(clauses)
		for _, c := range short {
			require.LessOrEqual(t, c.symbols(), u.symbols)
			for _, w := range c.words {
				got += w.spelling
			}
		}
		require.Equal(t, want, got, "nothing is lost")
		require.Equal(t, len(clauses) > 0, len(short) > 0)
		if len(short) > 0 {
			require.Equal(t, clauses[len(clauses)-1].mark, short[len(short)-1].mark)
		}
	}
}
