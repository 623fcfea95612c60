package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Mistakes are all that is wrong with the settings, each with the setting's flag and variable.
type Mistakes []error

// Error returns a line for each mistake.
func (m Mistakes) Error() string {
	if len(m) == 1 {
		return m[0].Error()
	}
	lines := []string{fmt.Sprintf("%d settings are wrong:", len(m))}
	for _, mistake := range m {
		lines = append(lines, "  "+mistake.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.Is and errors.As see each mistake.
func (m Mistakes) Unwrap() []error { return m }

// add notes what is wrong with the setting of a flag, if anything is.
func (m *Mistakes) add(flag string, err error) {
	if err != nil {
		*m = append(*m, fmt.Errorf("--%s (%s): %w", flag, variable(flag), err))
	}
}

// when notes a mistake if it is one.
func (m *Mistakes) when(wrong bool, flag, message string) {
	if wrong {
		m.add(flag, errors.New(message))
	}
}

// all returns the mistakes as an error, in the order of their flags, and nil if there are none.
func (m Mistakes) all() error {
	if len(m) == 0 {
		return nil
	}
	return Mistakes(slices.SortedFunc(slices.Values(m), func(a, b error) int { return strings.Compare(a.Error(), b.Error()) }))
}

// variable returns the environment variable of a flag.
func variable(flag string) string {
	return "RECITAL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
