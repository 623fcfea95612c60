package jsontree_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web/jsontree"
)

// The errors and offsets are what CPython 3.11's json module answers to the same documents.
func TestSyntaxErrorsAreThoseOfPython(t *testing.T) {
	for document, want := range map[string]jsontree.SyntaxError{
		``:                       {Msg: "Expecting value", Offset: 0},
		`  `:                     {Msg: "Expecting value", Offset: 2},
		`{`:                      {Msg: "Expecting property name enclosed in double quotes", Offset: 1},
		`{"a"`:                   {Msg: "Expecting ':' delimiter", Offset: 4},
		`{"a":`:                  {Msg: "Expecting value", Offset: 5},
		`{"a":1`:                 {Msg: "Expecting ',' delimiter", Offset: 6},
		`{"a":1,`:                {Msg: "Expecting property name enclosed in double quotes", Offset: 7},
		`{"a":1,}`:               {Msg: "Expecting property name enclosed in double quotes", Offset: 7},
		`{"a":1, }`:              {Msg: "Expecting property name enclosed in double quotes", Offset: 8},
		`{a:1}`:                  {Msg: "Expecting property name enclosed in double quotes", Offset: 1},
		`{'a':1}`:                {Msg: "Expecting property name enclosed in double quotes", Offset: 1},
		`{"a" 1}`:                {Msg: "Expecting ':' delimiter", Offset: 5},
		`{"a":1 "b":2}`:          {Msg: "Expecting ',' delimiter", Offset: 7},
		`[1,]`:                   {Msg: "Expecting value", Offset: 3},
		`[1, ]`:                  {Msg: "Expecting value", Offset: 4},
		`[1`:                     {Msg: "Expecting ',' delimiter", Offset: 2},
		`[1 2]`:                  {Msg: "Expecting ',' delimiter", Offset: 3},
		`[,`:                     {Msg: "Expecting value", Offset: 1},
		`{"a":[1,2}`:             {Msg: "Expecting ',' delimiter", Offset: 9},
		`{"a":tru}`:              {Msg: "Expecting value", Offset: 5},
		`{"a":"x`:                {Msg: "Unterminated string starting at", Offset: 5},
		`{"a":"\`:                {Msg: "Unterminated string starting at", Offset: 5},
		`{"a":"\x"}`:             {Msg: `Invalid \escape`, Offset: 6},
		`{"a":"\u12"}`:           {Msg: `Invalid \uXXXX escape`, Offset: 7},
		`{"a":"\u12zz"}`:         {Msg: `Invalid \uXXXX escape`, Offset: 7},
		"{\"a\":\"\n\"}":         {Msg: "Invalid control character at", Offset: 6},
		"{\"a\":\"b\x00\"}":      {Msg: "Invalid control character at", Offset: 7},
		`{"a":01}`:               {Msg: "Expecting ',' delimiter", Offset: 6},
		`{"a":-}`:                {Msg: "Expecting value", Offset: 5},
		`{"a":1.}`:               {Msg: "Expecting ',' delimiter", Offset: 6},
		`{"a":.5}`:               {Msg: "Expecting value", Offset: 5},
		`{"a":+1}`:               {Msg: "Expecting value", Offset: 5},
		`{"a":1e}`:               {Msg: "Expecting ',' delimiter", Offset: 6},
		`{"a":-NaN}`:             {Msg: "Expecting value", Offset: 5},
		`{}x`:                    {Msg: "Extra data", Offset: 2},
		`{} {}`:                  {Msg: "Extra data", Offset: 3},
		`{"a":1,"b"}`:            {Msg: "Expecting ':' delimiter", Offset: 10},
		"\x00":                   {Msg: "Expecting value", Offset: 0},
		`{"a":"ä","b":}`:         {Msg: "Expecting value", Offset: 14}, // in bytes; Python counts characters
		strings.Repeat("[", 1e6): {Msg: "Nesting is too deep", Offset: jsontree.MaxDepth + 1},
	} {
		_, err := jsontree.Parse([]byte(document), nil)
		var syntax *jsontree.SyntaxError
		require.ErrorAs(t, err, &syntax, "%.20q", document)
		require.Equal(t, want, *syntax, "%.20q", document)
	}
}

func TestTextThatIsNotUnicodeIsMarked(t *testing.T) {
	for document, want := range map[string]struct {
		text string
		bad  bool
	}{
		`"plain"`:              {"plain", false},
		`"äöü 🎉"`:              {"äöü 🎉", false},
		`"\u00e4\ud83c\udf89"`: {"ä🎉", false},
		`"\"\\\/\b\f\n\r\t"`:   {"\"\\/\b\f\n\r\t", false},
		`"\ufffd"`:             {"\ufffd", false},
		`"\ud800"`:             {"\ufffd", true},
		`"\udc00"`:             {"\ufffd", true},
		`"\ud800\ud800"`:       {"\ufffd\ufffd", true},
		`"\ud800\u0041"`:       {"\ufffdA", true},
		`"a\u0000b"`:           {"a\x00b", false},
		"\"\xff\"":             {"\ufffd", true},
		"\"\xed\xa0\x80\"":     {"\ufffd", true}, // a surrogate in UTF-8's clothes
		"\"\xc0\x80\\n\"":      {"\ufffd\n", true},
	} {
		value, err := jsontree.Parse([]byte(document), nil)
		require.NoError(t, err, document)
		require.Equal(t, want.bad, value.BadText, document)
		require.Equal(t, want.text, value.Text, document)
	}
}

func TestOnlyWantedMembersAreBuilt(t *testing.T) {
	value, err := jsontree.Parse([]byte(`{"big":{"a":[1,2,"x"]},"text":1,"text":{"big":2}}`), func(key string) bool { return key == "text" })
	require.NoError(t, err)
	require.Len(t, value.Members, 2)
	last, ok := value.Get("text")
	require.True(t, ok)
	require.Equal(t, jsontree.Object, last.Kind, "the last of equal keys wins")
	_, ok = last.Get("big")
	require.True(t, ok, "below the top level everything is kept")
	_, ok = value.Get("big")
	require.False(t, ok)
}

func TestByteOrderMarkIsSkipped(t *testing.T) {
	value, err := jsontree.Parse([]byte("\xef\xbb\xbf{}"), nil)
	require.NoError(t, err)
	require.Equal(t, jsontree.Object, value.Kind)
}

// FuzzParse compares with encoding/json: both accept the same documents, with the same values, except for what this
// package does differently on purpose.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5,-0,1e3,"x\u00e4\ud83c\udf89\ud800",true,false,null]}`, `[[]]`, `{"a":1,"a":2}`, `"\u12`, `-`, "\"\xff\"", ` 1 `, `NaN`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		value, err := jsontree.Parse(document, nil)
		skipped, skipErr := jsontree.Parse(document, func(string) bool { return false })
		require.Equal(t, err, skipErr, "skipping members changes no error")
		require.Empty(t, skipped.Members)
		if bytes.Contains(document, []byte("NaN")) || bytes.Contains(document, []byte("Infinity")) || bytes.HasPrefix(document, []byte("\xef\xbb\xbf")) {
			return
		}
		if syntax, ok := errors.AsType[*jsontree.SyntaxError](err); ok && syntax.Msg == "Nesting is too deep" {
			return
		}
		require.Equal(t, json.Valid(document), err == nil, "%q: %v", document, err)
		decoder := json.NewDecoder(bytes.NewReader(document))
		decoder.UseNumber()
		var want any
		if err == nil {
			require.NoError(t, decoder.Decode(&want))
			compare(t, want, &value)
		}
	})
}

func compare(t *testing.T, want any, got *jsontree.Value) {
	switch want := want.(type) {
	case nil:
		require.Equal(t, jsontree.Null, got.Kind)
	case bool:
		require.Equal(t, jsontree.Bool, got.Kind)
		require.Equal(t, want, got.Bool)
	case json.Number:
		require.Contains(t, []jsontree.Kind{jsontree.Int, jsontree.Float}, got.Kind)
		require.Equal(t, want.String(), got.Text)
		f, _ := strconv.ParseFloat(got.Text, 64)
		require.False(t, math.IsNaN(f))
	case string:
		require.Equal(t, jsontree.String, got.Kind)
		require.True(t, utf8.ValidString(got.Text))
		if !got.BadText {
			require.Equal(t, want, got.Text)
		}
	case []any:
		require.Len(t, got.Items, len(want))
		for i := range want {
			compare(t, want[i], &got.Items[i])
		}
	case map[string]any:
		for key, one := range want {
			if member, ok := got.Get(key); ok {
				compare(t, one, member)
			} else {
				require.Contains(t, key, "\ufffd") // keys that are not Unicode collapse differently
			}
		}
	}
}
