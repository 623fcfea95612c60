package app

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/process/health"
)

// settingTexts explains the settings, for the help of recitald and docs/configuration.md.
//
//go:embed settings.txt
var settingTexts string

// NewParser returns a parser of a Config, or of a struct that embeds it, with the variables and texts of the settings.
func NewParser(target any, options ...kong.Option) (*kong.Kong, error) {
	parser, err := kong.New(target, options...)
	if err != nil {
		return nil, err
	}
	groups, texts := readTexts()
	for _, flag := range parser.Model.Flags {
		secret, isFile := strings.CutSuffix(flag.Name, "-file")
		switch {
		case texts[flag.Name] != "":
			flag.Help, flag.Group = texts[flag.Name], groups[flag.Name]
		case texts[secret] != "":
			flag.Help, flag.Group = "File with that secret, instead.", groups[secret]
		default:
			continue // not a setting, such as --help
		}
		if isFile {
			flag.PlaceHolder = "PATH"
		}
		flag.Envs = append([]string{variable(flag.Name)}, flag.Envs...)
		flag.Tag.Envs = flag.Envs
	}
	return parser, nil
}

// readTexts returns the group and the meaning of each setting, by flag.
func readTexts() (groups map[string]*kong.Group, texts map[string]string) {
	groups, texts = map[string]*kong.Group{}, map[string]string{}
	var group *kong.Group
	flag := ""
	for line := range strings.Lines(settingTexts) {
		line = strings.TrimRight(line, "\n")
		switch title, isGroup := strings.CutPrefix(line, "= "); {
		case line == "", strings.HasPrefix(line, "#"):
		case isGroup:
			group = &kong.Group{Key: title, Title: title + ":"}
		case line[0] != ' ':
			flag = line
			groups[flag] = group
		default:
			texts[flag] = strings.TrimSpace(texts[flag] + " " + strings.TrimSpace(line))
		}
	}
	return groups, texts
}

// ReadConfig reads the settings from a program's arguments and the environment into config and the other targets of the
// parser. Its error is Mistakes, with all errors.
func ReadConfig(parser *kong.Kong, config *Config, args []string) error {
	var m Mistakes
	given := m.readEnvironment(parser)
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

// clientKey is a variable for clients, which may run in the same environment.
const clientKey = "RECITAL_API_KEY"

// readEnvironment returns the flags that variables give. A variable with the prefix that is not a setting is a mistake:
// it is misspelled, or its setting was removed.
func (m *Mistakes) readEnvironment(parser *kong.Kong) (given map[string]string) {
	given = map[string]string{}
	known := map[string]bool{clientKey: true}
	for _, flag := range parser.Model.Flags {
		for _, env := range flag.Envs {
			known[env] = true
			text, set := os.LookupEnv(env)
			if !set {
				continue
			}
			given[flag.Name] = "environment"
			if err := readable(flag, text); err != nil {
				m.add(flag.Name, err)
				flag.Envs, flag.Tag.Envs = nil, nil // the rest can still be checked
			}
		}
	}
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "RECITAL_") && !known[name] {
			*m = append(*m, fmt.Errorf("%s: there is no such setting; unset it, and see recitald --help", name))
		}
	}
	return given
}

// readArguments records the flags that are given, and returns the arguments without those that are mistakes.
func (m *Mistakes) readArguments(parser *kong.Kong, args []string, given map[string]string) (rest []string) {
	flags := map[string]*kong.Flag{}
	for _, flag := range parser.Model.Flags {
		flags["--"+flag.Name] = flag
	}
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

// readable returns an error if a text is not a value of a flag.
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

// secretSetting is a setting with either a value or a file.
type secretSetting struct {
	flag  string
	value reflect.Value // string or []string
	file  string
	whole bool // the value is one word, not an address with a password
}

// secrets yields the settings that can be files.
func (c *Config) secrets() iter.Seq[secretSetting] {
	return func(yield func(secretSetting) bool) {
		values := reflect.ValueOf(c).Elem()
		for i := range values.NumField() {
			field := values.Type().Field(i)
			if kind := field.Tag.Get("secret"); kind != "" && !yield(secretSetting{
				field.Tag.Get("name"), values.Field(i), values.FieldByName(field.Name + "File").String(), kind == "whole",
			}) {
				return
			}
		}
	}
}

// withSecrets returns the settings with the secrets read from their files.
func (c Config) withSecrets() (Config, error) {
	var m Mistakes
	for s := range c.secrets() {
		if s.file != "" {
			m.add(s.flag+"-file", s.read())
		}
	}
	return c, m.all()
}

func hasSpace(line string) bool { return strings.ContainsAny(line, " \t") }

func (s secretSetting) read() error {
	content, err := os.ReadFile(s.file)
	if err != nil {
		return err
	}
	lines := strings.FieldsFunc(string(content), func(c rune) bool { return c == '\n' || c == '\r' })
	lines = slices.DeleteFunc(lines, blank)
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	switch isList := s.value.Kind() == reflect.Slice; {
	case len(lines) == 0 || s.whole && slices.ContainsFunc(lines, hasSpace):
		return fmt.Errorf("%s holds no secret", s.file)
	case isList:
		s.value.Set(reflect.ValueOf(lines))
	case len(lines) > 1:
		return fmt.Errorf("%s does not have one line", s.file)
	default:
		s.value.SetString(lines[0])
	}
	return nil
}

// hidden stands for a secret that is set.
const hidden = "(hidden)"

// Settings returns all settings in the order of their declaration.
func (c Config) Settings() (all []adminapi.Setting) {
	c.DrainDelay = new(c.drainDelay())
	values := reflect.ValueOf(c)
	for i := range values.NumField() {
		field := values.Type().Field(i)
		flag := field.Tag.Get("name")
		if flag == "" {
			continue
		}
		value := hide(field.Tag.Get("secret"), shown(values.Field(i)))
		all = append(all, adminapi.Setting{
			Flag: flag, Variable: variable(flag), Value: value, From: cmp.Or(c.Given[flag], "default"),
		})
	}
	return all
}

func shown(value reflect.Value) string {
	if list, is := value.Interface().([]string); is {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(reflect.Indirect(value).Interface())
}

// passwords matches passwords in the addresses of a database or an event store: after the user, in the query, or in
// Postgres's list of words.
var passwords = regexp.MustCompile(`(://[^:/@]*:)\S*(@)|((?i:password)\s*=\s*)(?:'[^']*'|[^\s&]*)`)

func hide(secret, text string) string {
	switch {
	case text == "" || secret == "":
		return text
	case secret == "whole":
		return hidden
	}
	return passwords.ReplaceAllString(text, "${1}${3}"+hidden+"${2}")
}

func (a *App) lookAtSettings(context.Context) health.Finding {
	changed := 0
	var open []string
	for _, s := range a.cfg.Settings() {
		if s.From != "default" {
			changed++
		}
		if strings.HasSuffix(s.Flag, "-file") && s.Flag != "country-file" && isOpenToOthers(s.Value) {
			open = append(open, s.Value)
		}
	}
	for _, name := range []string{"operator-token", "auditor-token", "master-key", "signing-key", devKeyFile} {
		if path := filepath.Join(a.cfg.DataDir, name); isOpenToOthers(path) {
			open = append(open, path)
		}
	}
	f := health.Sound("mode %s, %d settings are not defaults", a.cfg.Mode, changed)
	if len(open) > 0 {
		f.Found += "; other users may read " + strings.Join(open, ", ")
		return f.But(health.Warning, "chmod 600 these files, as far as your platform permits")
	}
	return f
}

func isOpenToOthers(path string) bool {
	info, err := os.Stat(path)
	return err == nil && path != "" && info.Mode().Perm()&0o077 != fs.FileMode(0)
}
