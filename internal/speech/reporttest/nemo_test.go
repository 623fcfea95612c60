package reporttest

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// otherCases are cases outside of this service's scope: lattices of readings, and NeMo's own markup.
var otherCases = []string{"normalize_with_audio", "special_text"}

// nemoReasons has the reasons of disagreements with NeMo: a reason and a pattern of "kind: text".
//
//go:embed texts/nemo.tsv
var nemoReasons string

// reportNemo prints, by file, how many of NeMo-text-processing's published cases for English have the same spoken text
// here, and lists the others by their reasons, and those without one last.
func reportNemo(ctx context.Context) error {
	pairs, err := nemoCases(*cases)
	if err != nil {
		return err
	}
	outcomes, err := sayPairs(ctx, pairs)
	if err != nil {
		return err
	}
	counts := map[string]*count{}
	var all count
	for i, o := range outcomes {
		o.said, o.spoken = heardWords(o.said), heardWords(o.spoken)
		if counts[o.kind] == nil {
			counts[o.kind] = &count{}
		}
		counts[o.kind].add(o)
		all.add(o)
		if i == len(outcomes)-1 || outcomes[i+1].kind != o.kind {
			fmt.Printf("%s: %s alike\n", o.kind, counts[o.kind])
		}
	}
	fmt.Printf("%s alike in all\n", &all)
	printReasons(outcomes)
	return nil
}

func printReasons(outcomes []outcome) {
	others := slices.DeleteFunc(slices.Clone(outcomes), func(o outcome) bool {
		return heardWords(o.said) == heardWords(o.spoken)
	})
	for line := range strings.Lines(nemoReasons + "not explained\t\n") {
		reason, expression, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		pattern := regexp.MustCompile(expression)
		has := func(o outcome) bool { return pattern.MatchString(o.kind + ": " + o.text) }
		left := slices.DeleteFunc(slices.Clone(others), has)
		fmt.Printf("%d of %d: %s\n", len(others)-len(left), len(outcomes), reason)
		for _, o := range others {
			if has(o) {
				fmt.Printf("    %s: %q is said as %q; NeMo: %q\n", o.kind, o.text, o.said, o.spoken)
			}
		}
		others = left
	}
}

// nemoCases reads files of lines of written and spoken text with a tilde between them.
func nemoCases(folder string) (pairs []pair, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "test_cases_*.txt"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no test_cases_*.txt in %q: %w", folder, err)
	}
	for _, name := range names {
		kind := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), "test_cases_"), ".txt")
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(content)) {
			text, spoken, found := strings.Cut(strings.TrimRight(line, "\r\n"), "~")
			if found && strings.TrimSpace(text) != "" && !strings.Contains(strings.Join(otherCases, " "), kind) {
				pairs = append(pairs, pair{kind: kind, language: "en-us", text: text, spoken: spoken})
			}
		}
	}
	return pairs, nil
}

// heardWords reduces a spoken text to the part that must be the same in both: letters, without "and" and "the", which
// depend on the country, and without the borders of words, which differ in spelling ("twenty-one", "U S").
func heardWords(spoken string) string {
	var out strings.Builder
	for word := range strings.FieldsFuncSeq(strings.ToLower(strings.ReplaceAll(spoken, "'", "")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}) {
		if word != "and" && word != "the" && word != "of" {
			out.WriteString(word)
		}
	}
	return out.String()
}
