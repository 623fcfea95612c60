package main

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTextOfServersDoesNothingToATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain, with ümläuts and 日本語":       "plain, with ümläuts and 日本語",
		"\x1b[2J\x1b]0;title\x07":           `\u001b[2J\u001b]0;title\u0007`,
		"two\nlines\tand\rmore":             `two\u000alines\u0009and\u000dmore`,
		"\u009b31m and \x7f":                `\u009b31m and \u007f`,
		"right\u202eto left\u2066\u200b":    `right\u202eto left\u2066\u200b`,
		"line\u2028separator":               `line\u2028separator`,
		"no \xff text":                      `no \ufffd text`,
		"a tag\U000e0041 nobody can see":    `a tag\U000e0041 nobody can see`,
		"back\\slash stays, \u00a0 as well": "back\\slash stays, \u00a0 as well",
	} {
		require.Equal(t, want, printable(text))
	}
}

func TestOutputHoldsNoControlCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		var out strings.Builder
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		writer := &harmless{to: &out}
		for _, piece := range []string{text[:cut], text[cut:], "."} {
			n, err := writer.Write([]byte(piece))
			require.NoError(t, err)
			require.Equal(t, len(piece), n)
		}
		require.Equal(t, escape(text+".", "\n\t"), out.String(), "wherever it is cut")
		left := strings.NewReplacer("\n", "", "\t", "").Replace(out.String())
		require.Equal(t, -1, strings.IndexFunc(left, unicode.IsControl), "%q", left)
		require.Equal(t, strings.Count(text, "\n"), strings.Count(out.String(), "\n"))
	})
}

func TestSizesForPeople(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 5 << 20: "5.0 MiB",
		3 << 40: "3.0 TiB", 5 << 50: "5120.0 TiB",
	} {
		require.Equal(t, want, inBytes(n))
	}
}
