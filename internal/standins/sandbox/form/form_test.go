package form_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/standins/sandbox/form"
)

func parse(t *testing.T, query string) *form.Form {
	values, err := url.ParseQuery(query)
	require.NoError(t, err)
	return form.Parse(values)
}

func TestParametersAreReadByTheirNames(t *testing.T) {
	f := parse(t, "items[1][price]=b&items[0][price]=a&expand[]=x&expand[]=y&metadata[k]=v&n=7&yes=true&end[gte]=5")
	items := f.List("items")
	require.Len(t, items, 2)
	require.Equal(t, "a", items[0].Required("price"))
	require.Equal(t, "b", items[1].Required("price"))
	require.Equal(t, []string{"x", "y"}, f.Strings("expand"))
	require.Equal(t, map[string]string{"k": "v"}, f.Metadata())
	require.Equal(t, int64(7), f.Int("n", 0))
	require.True(t, f.Bool("yes", false))
	require.Equal(t, int64(5), f.Sub("end").Int("gte", 0))
	require.Equal(t, int64(3), f.Int("absent", 3))
	require.NoError(t, f.Unread())
}

func TestInvalidParametersAreReported(t *testing.T) {
	for name, want := range map[string]struct {
		query string
		read  func(*form.Form)
		param string
	}{
		"a parameter is missing":  {"a[x]=1", func(f *form.Form) { f.Sub("a").Required("b") }, "a[b]"},
		"no whole number":         {"n=1.5", func(f *form.Form) { f.Int("n", 0) }, "n"},
		"no truth value":          {"yes=1", func(f *form.Form) { f.Bool("yes", false) }, "yes"},
		"none of the values":      {"way=c", func(f *form.Form) { f.Enum("way", "a", "b") }, "way"},
		"a parameter is not read": {"a=1&b[c]=2", func(f *form.Form) { f.String("a"); f.Sub("b") }, "b[c]"},
	} {
		t.Run(name, func(t *testing.T) {
			f := parse(t, want.query)
			want.read(f)
			var problem *form.Problem
			require.ErrorAs(t, f.Unread(), &problem)
			require.Equal(t, want.param, problem.Param)
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, query := range []string{"a[b][]=1", "a[=1", "]=1", "a[b]c=1&a=2", "[]=&[0]="} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		parsed := form.Parse(values)
		if len(values) > 0 {
			require.Error(t, parsed.Unread(), "nothing was read")
		}
	})
}
