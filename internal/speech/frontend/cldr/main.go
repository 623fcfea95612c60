// Command cldr writes the data of package frontend that come from the CLDR: the rules that spell numbers
// (npm package cldr-rbnf) and the names of emoji (cldr-annotations-full).
//
//	npm install --ignore-scripts --prefix DIR cldr-rbnf@48.2.0 cldr-annotations-full@48.2.0
//	go run ./internal/speech/frontend/cldr DIR/node_modules internal/speech/frontend/rules
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
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
	for _, language := range []string{"en", "de", "fr", "fr-BE", "fr-CH", "es", "it", "nl", "pl", "pt", "pt-PT", "ru"} {
		source := filepath.Join(modules, "cldr-rbnf/rbnf", language+".json")
		if err := writeRules(source, filepath.Join(out, language+".txt")); err != nil {
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

// writeRules writes each rule set as a line with its name and a line for each rule: base value, tab, text.
func writeRules(source, target string) error {
	var file struct {
		RBNF struct {
			RBNF map[string]map[string]json.RawMessage `json:"rbnf"`
		} `json:"rbnf"`
	}
	if err := read(source, &file); err != nil {
		return err
	}
	sets := file.RBNF.RBNF["SpelloutRules"]
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sets)) {
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
