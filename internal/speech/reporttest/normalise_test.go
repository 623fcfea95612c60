package reporttest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/japanese"
	"github.com/recital-tts/recital/internal/speech/japanese/ipadic"
)

// pairFiles have the pairs of written and spoken texts. The files that end in heldout.tsv were written before the
// rules, and their pairs are only counted.
var pairFiles = []string{
	"../frontend/testdata/*.tsv", "../japanese/testdata/spoken*.tsv", "../pinyin/testdata/*.tsv",
}

// otherTables are the other tables in the same folder.
var otherTables = []string{"sayas.tsv"}

// pair is a text and its spoken form.
type pair struct {
	kind, language, text, spoken string
	heldOut                      bool
}

// heldOutShares are the minimum percentages of held-out pairs with the expected spoken text, for languages that exceed
// the general minimum. A change of the rules may lose some pairs and gain others.
var heldOutShares = map[string]int{"en": 97, "ja": 95, "cmn": 95, "de": 93}

const heldOutShare = 90

func TestHeldOutTextsAreSpoken(t *testing.T) {
	pairs, err := readPairs()
	require.NoError(t, err)
	outcomes, err := sayPairs(t.Context(), pairs)
	require.NoError(t, err)
	counts := map[string]*count{}
	for _, o := range outcomes {
		language, _, _ := strings.Cut(o.language, "-")
		switch {
		case !o.heldOut:
			require.True(t, o.right(), "%s, %s: %q is said as %q instead of %q", o.language, o.kind, o.text, o.said, o.spoken)
			continue
		case counts[language] == nil:
			counts[language] = &count{}
		}
		counts[language].add(o)
	}
	require.NotEmpty(t, counts)
	for language, c := range counts {
		least := max(heldOutShares[language], heldOutShare)
		require.GreaterOrEqual(t, 100*c.right, least*c.all, "%s: %s; make normalise-report lists the others", language, c)
	}
}

// reportNormalisation prints how many pairs of each language and kind have the expected spoken text, and lists the
// others.
func reportNormalisation(ctx context.Context) error {
	pairs, err := readPairs()
	if err != nil {
		return err
	}
	outcomes, err := sayPairs(ctx, pairs)
	if err != nil {
		return err
	}
	printCounts(outcomes)
	printMisses(outcomes)
	return nil
}

func readPairs() (pairs []pair, err error) {
	for _, pattern := range pairFiles {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			return nil, fmt.Errorf("no file matches %s: %w", pattern, err)
		}
		for _, name := range names {
			if slices.Contains(otherTables, filepath.Base(name)) {
				continue
			}
			found, err := readPairsOf(name)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, found...)
		}
	}
	return pairs, nil
}

// readPairsOf reads a table: kind, language, text, spoken form. In the texts, \n is a new line.
func readPairsOf(name string) (pairs []pair, err error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(content)) {
		f := strings.Split(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `\n`, "\n"), "\t")
		if len(f) != 4 {
			return nil, fmt.Errorf("%s: %q has %d fields instead of 4", name, line, len(f))
		}
		pairs = append(pairs, pair{f[0], f[1], f[2], f[3], strings.HasSuffix(name, "heldout.tsv")})
	}
	return pairs, nil
}

// outcome is a pair with its actual spoken text.
type outcome struct {
	pair
	said string
}

// right reports whether the spoken text is as expected. In Japanese and Chinese, spaces are inaudible borders of words
// and syllables.
func (o outcome) right() bool {
	if o.language == "ja" || o.language == "cmn" {
		return strings.ReplaceAll(o.said, " ", "") == strings.ReplaceAll(o.spoken, " ", "")
	}
	return o.said == o.spoken || withoutPauses(o.said) == withoutPauses(o.spoken)
}

// withoutPauses returns a text without the marks that are replaced for pauses.
func withoutPauses(text string) string {
	marks := strings.NewReplacer(". ", " ", ",", " ", "(", " ", ")", " ", "–", " ", "—", " ", " - ", " ")
	return strings.Join(strings.Fields(marks.Replace(text)), " ")
}

// sayPairs returns the texts that engines get for pairs.
func sayPairs(ctx context.Context, pairs []pair) (outcomes []outcome, err error) {
	analyser, err := ipadic.Open()
	if err != nil {
		return nil, err
	}
	listener := &listener{}
	engine := speech.WithFrontEnd(listener, reader{analyser})
	for _, p := range pairs {
		if _, err := engine.Speak(ctx, speech.Job{Text: p.text, Language: p.language}); err != nil {
			return nil, err
		}
		outcomes = append(outcomes, outcome{p, listener.text})
	}
	return outcomes, nil
}

// listener is an engine that keeps the text of its job.
type listener struct {
	speech.Engine
	text string
}

// Speak implements speech.Engine.
func (l *listener) Speak(_ context.Context, job speech.Job) (speech.Utterance, error) {
	l.text = job.Text
	return nil, nil
}

// reader reads Japanese in this process.
type reader struct{ analyser *ipadic.Analyser }

// Read implements speech.JapaneseReader.
func (r reader) Read(_ context.Context, text string) ([]japanese.Reading, error) {
	return japanese.Read(text, r.analyser.Morphemes), nil
}

// count is the number of pairs, and of those with the expected spoken text.
type count struct{ right, all int }

func (c *count) add(o outcome) {
	c.all++
	if o.right() {
		c.right++
	}
}

func (c *count) String() string {
	if c.all == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", c.right, c.all)
}

// row is a language and a kind.
type row struct{ language, kind string }

// every is the language or kind of a row of totals, which sorts last.
const every = "~ all"

func printCounts(outcomes []outcome) {
	workedOn, heldOut := map[row]*count{}, map[row]*count{}
	for _, o := range outcomes {
		language, _, _ := strings.Cut(o.language, "-")
		for _, r := range []row{{language, o.kind}, {language, every}, {every, every}} {
			for _, counts := range []map[row]*count{workedOn, heldOut} {
				if counts[r] == nil {
					counts[r] = &count{}
				}
			}
			if o.heldOut {
				heldOut[r].add(o)
			} else {
				workedOn[r].add(o)
			}
		}
	}
	table := newTable()
	fmt.Fprint(table, "language\tkind\tworked on\theld out\t\n")
	for _, r := range slices.SortedFunc(maps.Keys(workedOn), func(a, b row) int {
		return cmp.Or(strings.Compare(a.language, b.language), strings.Compare(a.kind, b.kind))
	}) {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t\n", r.language, r.kind, workedOn[r], heldOut[r])
	}
	table.Flush()
}

func printMisses(outcomes []outcome) {
	fmt.Println("\nnot said as expected:")
	for _, o := range outcomes {
		if !o.right() {
			fmt.Printf("%s, %s: %q is said as %q instead of %q\n", o.language, o.kind, o.text, o.said, o.spoken)
		}
	}
}
