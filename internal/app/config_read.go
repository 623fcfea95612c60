package app

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// ReadConfig reads the settings from a program's arguments and the environment, into config and into what the program's
// parser fills beside it. Its error is Mistakes: all that is wrong, also where a value could not be read.
func ReadConfig(parser *kong.Kong, config *Config, args []string) error {
	var m Mistakes
	given := map[string]string{}
	for _, flag := range parser.Model.Flags {
		for _, env := range flag.Envs {
			text, set := os.LookupEnv(env)
			if !set {
				continue
			}
			given[flag.Name] = "environment"
			if err := readable(flag, text); err != nil {
				m.add(flag.Name, err)
				flag.Envs, flag.Tag.Envs = nil, nil // so that the rest can be checked
			}
		}
	}
	args = m.readArguments(parser, args, given)
	_, err := parser.Parse(args)
	if found := (Mistakes{}); errors.As(err, &found) {
		m = append(m, found...)
	} else if err != nil {
		m = append(m, err)
	}
	config.Given = given
	if found := (Mistakes{}); errors.As(config.checkFiles(), &found) {
		m = append(m, found...)
	}
	return m.all()
}

// readArguments notes which flags are given, and returns the arguments without those that mean nothing.
func (m *Mistakes) readArguments(parser *kong.Kong, args []string, given map[string]string) (rest []string) {
	flags := maps.Collect(func(yield func(string, *kong.Flag) bool) {
		for _, flag := range parser.Model.Flags {
			if !yield("--"+flag.Name, flag) {
				return
			}
		}
	})
	for i := 0; i < len(args); i++ {
		name, text, joined := strings.Cut(args[i], "=")
		flag := flags[name]
		if flag == nil && strings.HasPrefix(name, "--") {
			*m = append(*m, fmt.Errorf("%s: there is no such setting", name))
			continue
		}
		if flag == nil || flag.IsBool() {
			rest = append(rest, args[i])
			continue
		}
		words := args[i : i+1]
		if !joined && i+1 < len(args) {
			i++
			words, text, joined = append(slices.Clone(words), args[i]), args[i], true
		}
		given[flag.Name] = "flag"
		if err := readable(flag, text); joined && err != nil {
			m.add(flag.Name, err)
			continue
		}
		rest = append(rest, words...)
	}
	return rest
}

// readable returns why a text is no value of a flag.
func readable(flag *kong.Flag, text string) error {
	scratch := reflect.New(flag.Target.Type()).Elem()
	if err := flag.Parse(kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: text}), scratch); err != nil {
		return fmt.Errorf("%q cannot be read: %s", text, strings.TrimPrefix(err.Error(), "--"+flag.Name+": "))
	}
	if flag.Enum != "" && !flag.EnumMap()[text] {
		return fmt.Errorf("%q is none of %s", text, strings.Join(flag.EnumSlice(), ", "))
	}
	return nil
}
