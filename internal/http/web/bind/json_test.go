package bind_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web/bind"
)

// Messages and offsets are those of CPython's json module, except for offsets within strings, numbers and words.
func TestSyntaxErrorsAreThoseOfPython(t *testing.T) {
	const value, name, colon, comma = "Expecting value", "Expecting property name enclosed in double quotes",
		"Expecting ':' delimiter", "Expecting ',' delimiter"
	for document, want := range map[string]bind.SyntaxError{
		``:                       {Msg: value, Offset: 0},
		`  `:                     {Msg: value, Offset: 2},
		`{`:                      {Msg: name, Offset: 1},
		`{"a"`:                   {Msg: colon, Offset: 4},
		`{"a":`:                  {Msg: value, Offset: 5},
		`{"a":1`:                 {Msg: comma, Offset: 6},
		`{"a":1,`:                {Msg: name, Offset: 7},
		`{"a":1,}`:               {Msg: name, Offset: 7},
		`{a:1}`:                  {Msg: name, Offset: 1},
		`{'a':1}`:                {Msg: name, Offset: 1},
		`{"a" 1}`:                {Msg: colon, Offset: 5},
		`{"a":1 "b":2}`:          {Msg: comma, Offset: 7},
		`[1, ]`:                  {Msg: value, Offset: 4},
		`[1`:                     {Msg: comma, Offset: 2},
		`[1 2]`:                  {Msg: comma, Offset: 3},
		`{"a":[1,2}`:             {Msg: comma, Offset: 9},
		`{"a":tru}`:              {Msg: value, Offset: 8},
		`{"a":NaN}`:              {Msg: value, Offset: 5},
		`{"a":"x`:                {Msg: "Unterminated string", Offset: 7},
		`{"a":"\`:                {Msg: "Unterminated string", Offset: 7},
		`{"a":"\x"}`:             {Msg: `Invalid \escape`, Offset: 7},
		`{"a":"\u12zz"}`:         {Msg: `Invalid \uXXXX escape`, Offset: 10},
		"{\"a\":\"\n\"}":         {Msg: "Invalid control character at", Offset: 6},
		`{"a":01}`:               {Msg: comma, Offset: 6},
		`{"a":.5}`:               {Msg: value, Offset: 5},
		`{}x`:                    {Msg: "Extra data", Offset: 2},
		"\xef\xbb\xbf{}x":        {Msg: "Extra data", Offset: 5},
		`{"a":"ä","b":}`:         {Msg: value, Offset: 14}, // in bytes; Python counts characters
		strings.Repeat("[", 1e6): {Msg: value, Offset: 10_000},
	} {
		_, err := bind.ParseObject([]byte(document))
		var syntax *bind.SyntaxError
		require.ErrorAs(t, err, &syntax, "%.20q", document)
		require.Equal(t, want, *syntax, "%.20q", document)
	}
	for _, document := range []string{`[]`, `1`, `"x"`, `null`} {
		_, err := bind.ParseObject([]byte(document))
		require.ErrorIs(t, err, bind.ErrNoObject, document)
	}
}

func TestTextThatIsNotUnicodeIsMarked(t *testing.T) {
	for text, want := range map[string]struct {
		text string
		bad  bool
	}{
		`"plain"`:              {"plain", false},
		`"äöü 🎉"`:              {"äöü 🎉", false},
		`"\u00e4\ud83c\udf89"`: {"ä🎉", false},
		`"\"\\\/\b\f\n\r\t"`:   {"\"\\/\b\f\n\r\t", false},
		`"\ufffd"`:             {"\ufffd", false},
		`"\\ud800"`:            {`\ud800`, false},
		`"\\\ud800"`:           {"\\\ufffd", true},
		`"\ud800"`:             {"\ufffd", true},
		`"\udc00"`:             {"\ufffd", true},
		`"\ud800\ud800"`:       {"\ufffd\ufffd", true},
		`"\ud800\u0041"`:       {"\ufffdA", true},
		`"\ud83c\udf89\ud83c"`: {"🎉\ufffd", true},
		`"a\u0000b"`:           {"a\x00b", false},
		"\"\xff\"":             {"\ufffd", true},
		"\"\xc0\x80\\n\"":      {"\ufffd\ufffd\n", true},
	} {
		document, err := bind.ParseObject([]byte(`{"a":1,"a":` + text + `}`))
		require.NoError(t, err, text)
		value, ok := document.Get("a")
		require.True(t, ok, "the last of equal keys wins")
		require.Equal(t, want.bad, value.BadText, text)
		require.Equal(t, want.text, value.Text, text)
	}
}

// FuzzText checks that every unmarked text equals the encoded one.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"plain", "ä🎉", `\ud800`, "\xff", `\\\ud83c\udf89`} {
		f.Add(seed, `\ud83c\udf89\`)
	}
	f.Fuzz(func(t *testing.T, text, escapes string) {
		encoded, err := json.Marshal(map[string]string{"a": text})
		require.NoError(t, err)
		document, err := bind.ParseObject(encoded)
		require.NoError(t, err)
		value, _ := document.Get("a")
		if utf8.ValidString(text) {
			require.Equal(t, text, value.Text)
			require.False(t, value.BadText)
		}
		document, err = bind.ParseObject([]byte(`{"a":"` + escapes + `"}`))
		if value, _ = document.Get("a"); err != nil || len(document) > 1 {
			return
		}
		require.True(t, utf8.ValidString(value.Text))
		if value.Kind == bind.String && !value.BadText && !strings.Contains(strings.ToLower(escapes), "fffd") {
			require.Equal(t, strings.Count(escapes, "\ufffd"), strings.Count(value.Text, "\ufffd"))
		}
	})
}
