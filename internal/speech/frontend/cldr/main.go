// Command cldr writes the data of package frontend that come from the CLDR: the rules that spell numbers
// (npm package cldr-rbnf), the names of emoji (cldr-annotations-full), and, of the languages of which only the numbers
// are read, the marks of numbers and currencies (cldr-numbers-full) and units (cldr-units-full).
//
//	npm install --ignore-scripts --prefix DIR cldr-rbnf@48.2.0 cldr-annotations-full@48.2.0 \
//		cldr-numbers-full@48.2.0 cldr-units-full@48.2.0
//	go run ./internal/speech/frontend/cldr DIR/node_modules internal/speech/frontend/rules
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: cldr MODULES RULES")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(modules, out string) error {
	full := []string{"en", "de", "fr", "fr-BE", "fr-CH", "es", "it", "nl", "pl", "pt", "pt-PT", "ru"}
	for _, language := range slices.Concat(full, counting) {
		source := filepath.Join(modules, "cldr-rbnf/rbnf", language+".json")
		target := filepath.Join(out, language+".txt")
		if err := writeRules(source, target, slices.Contains(full, language)); err != nil {
			return err
		}
	}
	for _, language := range counting {
		if err := writeCounted(modules, language, filepath.Join(out, "counted-"+language+".tsv")); err != nil {
			return err
		}
	}
	for _, language := range []string{"en", "de", "fr", "es", "it", "nl", "pl", "pt", "ru"} {
		source := filepath.Join(modules, "cldr-annotations-full/annotations", language, "annotations.json")
		if err := writeEmoji(source, filepath.Join(out, "emoji-"+language+".tsv")); err != nil {
			return err
		}
	}
	return nil
}

// counting are the languages of which only the cardinal numbers are spoken by rules.
var counting = []string{
	"af", "am", "ar", "az", "be", "bg", "bs", "ca", "chr", "cs", "cy", "da", "el", "eo", "et", "fa", "fi", "ga", "gu",
	"he", "hi", "hr", "hu", "hy", "id", "is", "ka", "kk", "kl", "ko", "ky", "lb", "lt", "lv", "mk", "ms", "mt", "my",
	"ne", "no", "qu", "ro", "sk", "sl", "sq", "sr", "sv", "sw", "ta", "th", "tr", "uk", "vi",
}

// writeRules writes each rule set as a line with its name and a line for each rule: base value, tab, text. Unless all
// are to be written, it writes those that spell cardinal numbers.
func writeRules(source, target string, all bool) error {
	var file struct {
		RBNF struct {
			RBNF map[string]map[string]json.RawMessage `json:"rbnf"`
		} `json:"rbnf"`
	}
	if err := read(source, &file); err != nil {
		return err
	}
	sets := file.RBNF.RBNF["SpelloutRules"]
	names := slices.Sorted(maps.Keys(sets))
	if !all {
		names = needed(sets, "%spellout-numbering", "%spellout-cardinal-masculine", "%spellout-cardinal-feminine",
			"%spellout-cardinal-neuter", "%spellout-cardinal-common", "%spellout-cardinal-reale")
	}
	var out strings.Builder
	for _, name := range names {
		var rules [][2]string
		if json.Unmarshal(sets[name], &rules) != nil { // the name of a file
			continue
		}
		fmt.Fprintf(&out, "%s\n", name)
		for _, rule := range rules {
			fmt.Fprintf(&out, "%s\t%s\n", rule[0], strings.ReplaceAll(rule[1], "\u00ad", "")) // soft hyphens
		}
	}
	return os.WriteFile(target, []byte(out.String()), 0o644)
}

// needed returns sets and those that their rules refer to, in alphabetical order.
func needed(sets map[string]json.RawMessage, names ...string) []string {
	for i := 0; i < len(names); i++ {
		if _, ok := sets[names[i]]; !ok {
			continue
		}
		for _, reference := range references.FindAllString(string(sets[names[i]]), -1) {
			if !slices.Contains(names, reference) {
				names = append(names, reference)
			}
		}
	}
	slices.Sort(names)
	return names
}

var references = regexp.MustCompile(`%[%a-z0-9-]+`)

// writeEmoji writes the names of characters from U+2190 on, and of sequences of them without U+FE0F.
func writeEmoji(source, target string) error {
	var file struct {
		Annotations struct {
			Annotations map[string]struct {
				TTS []string `json:"tts"`
			} `json:"annotations"`
		} `json:"annotations"`
	}
	if err := read(source, &file); err != nil {
		return err
	}
	names := file.Annotations.Annotations
	var out strings.Builder
	for _, emoji := range slices.Sorted(maps.Keys(names)) {
		first, _ := utf8.DecodeRuneInString(emoji)
		if first < 0x2600 || first >= 0x3000 && first < 0x1f000 || len(names[emoji].TTS) == 0 {
			continue
		}
		name := strings.NewReplacer(":", "", "“", "", "”", "", "’", "'").Replace(names[emoji].TTS[0])
		fmt.Fprintf(&out, "%s\t%s\n", strings.ReplaceAll(emoji, "\ufe0f", ""), name)
	}
	return os.WriteFile(target, []byte(out.String()), 0o644)
}

func read(source string, into any) error {
	content, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	return json.Unmarshal(content, into)
}
