package main

import (
	_ "embed"
	"strings"

	"github.com/alecthomas/kong"
)

// helpTexts has the help texts that are too long for the tags of fields, which name them.
//
//go:embed help.txt
var helpTexts string

// newParser returns a parser of the commands.
func newParser(c *commands, options ...kong.Option) (*kong.Kong, error) {
	texts, name := kong.Vars{}, ""
	for line := range strings.Lines(helpTexts) {
		switch text := strings.TrimSpace(line); {
		case text == "", strings.HasPrefix(line, "#"):
		case line[0] != ' ':
			name = text
		default:
			texts[name] = strings.TrimSpace(texts[name] + " " + text)
		}
	}
	return kong.New(c, append(options, texts)...)
}
