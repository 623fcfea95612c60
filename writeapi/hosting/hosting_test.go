package hosting

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestListsOfProjects(t *testing.T) {
	hundred := make([]string, 100)
	for i := range hundred {
		hundred[i] = fmt.Sprint("site-", i)
	}
	for name, c := range map[string]struct {
		given []string
		want  []string
		wrong string
	}{
		"none":                  {nil, nil, ""},
		"an empty field":        {[]string{""}, nil, ""},
		"commas":                {[]string{"a, b,,a"}, []string{"a", "b"}, ""},
		"a repeated field":      {[]string{"a", "b,c"}, []string{"a", "b", "c"}, ""},
		"an array":              {[]string{` ["a","b, c"]`, "d"}, []string{"a", "b, c", "d"}, ""},
		"no array":              {[]string{`["a"`}, nil, "the array is not one of names"},
		"an array of numbers":   {[]string{`[1]`}, nil, "the array is not one of names"},
		"a hundred":             {hundred, hundred, ""},
		"one more":              {append(hundred[:100:100], "x"), nil, "at most 100 projects"},
		"a long name":           {[]string{strings.Repeat("ä", 100)}, []string{strings.Repeat("ä", 100)}, ""},
		"a name that is longer": {[]string{strings.Repeat("x", 101)}, nil, "a name has at most 100 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := names(c.given)
			if c.wrong != "" {
				require.EqualError(t, err, c.wrong)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}
