package app

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// Setting is a setting as it is in effect. Secrets are hidden.
type Setting struct {
	Flag     string `json:"flag"`
	Variable string `json:"variable"`
	Value    string `json:"value"`
	From     string `json:"from"` // default, environment or flag
}

// hidden stands for a secret that is set.
const hidden = "(hidden)"

// Settings returns all settings in the order of their declaration.
func (c Config) Settings() (all []Setting) {
	c.DrainDelay = new(c.drainDelay())
	values := reflect.ValueOf(c)
	for i := range values.NumField() {
		field := values.Type().Field(i)
		flag := field.Tag.Get("name")
		if flag == "" {
			continue
		}
		value := hide(field.Tag.Get("secret"), shown(values.Field(i)))
		all = append(all, Setting{Flag: flag, Variable: variable(flag), Value: value, From: cmp.Or(c.Given[flag], "default")})
	}
	return all
}

func shown(value reflect.Value) string {
	if value.Kind() == reflect.Slice {
		parts := make([]string, value.Len())
		for i := range parts {
			parts[i] = value.Index(i).String()
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(reflect.Indirect(value).Interface())
}

// passwords are those in the addresses of a database or an event store: after the user, in the query, or in Postgres's
// list of words.
var passwords = regexp.MustCompile(`(://[^:/@]*:)\S*@|((?i:password)\s*=\s*)('[^']*'|[^\s&]*)`)

func hide(secret, text string) string {
	switch {
	case text == "" || secret == "":
		return text
	case secret == "whole":
		return hidden
	}
	return passwords.ReplaceAllStringFunc(text, func(found string) string {
		parts := passwords.FindStringSubmatch(found)
		if parts[1] != "" {
			return parts[1] + hidden + "@"
		}
		return parts[2] + hidden
	})
}
