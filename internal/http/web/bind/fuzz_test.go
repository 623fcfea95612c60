package bind_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web/bind"
)

// mirror is the target of the fuzz test, with tags for encoding/json in addition to ours.
type mirror struct {
	Text  string   `body:"text" required:"true" maxlen:"20"`
	Speed float64  `body:"speed" default:"1" le:"2"`
	Rate  *int64   `body:"rate" enum:"8000,16000"`
	Debug bool     `body:"debug"`
	Tags  []string `body:"tags"`
	Model string   `body:"model" default:"a" literal:"a,b"`
	Voice string   `body:"voice" maxlen:"20" member:"id"`
}

// FuzzBind binds JSON and both kinds of forms. It never panics, its errors are well formed, and a JSON body that binds
// and that encoding/json accepts too gives the same values.
func FuzzBind(f *testing.F) {
	f.Add("application/json",
		[]byte(`{"text":"hi","speed":1.5,"rate":8000,"debug":true,"tags":["a"],"model":"b","more":{"a":1}}`))
	f.Add("application/json", []byte(`{"text":"\ud800","speed":"1e3","rate":"8_000","debug":"on","text":"x"}`))
	f.Add("application/json", []byte(`{"text":"hi","voice":{"id":"leah","more":{"id":1}}}`))
	f.Add("application/x-www-form-urlencoded", []byte("text=a%20b&speed=1&tags=a&tags=b&debug=on"))
	f.Add("multipart/form-data; boundary=b",
		[]byte("--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nhi\r\n--b--\r\n"))
	f.Add("text/plain", []byte(`{}`))
	plan, err := bind.Compile(reflect.TypeFor[mirror]())
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		var got mirror
		items, err := plan.Bind(reflect.ValueOf(&got).Elem(),
			&bind.Request{ContentType: contentType, Body: body, Forms: true})
		if err != nil {
			require.IsType(t, &bind.MalformedError{}, err)
			return
		}
		for _, item := range items {
			checkItem(t, item)
		}
		if len(items) == 0 {
			checkBounds(t, got)
			checkAgainstJSON(t, got, contentType, body)
		}
	})
}

func checkItem(t *testing.T, item bind.Item) {
	require.NotEmpty(t, item.Type)
	require.NotEmpty(t, item.Msg)
	require.NotEmpty(t, item.Loc)
	require.Equal(t, "body", item.Loc[0])
	require.NotEmpty(t, item.Field())
	encoded, err := json.Marshal(item)
	require.NoError(t, err)
	require.True(t, utf8.Valid(encoded))
}

func checkBounds(t *testing.T, got mirror) {
	require.LessOrEqual(t, got.Speed, 2.0)
	require.False(t, math.IsNaN(got.Speed) || math.IsInf(got.Speed, 0))
	for _, text := range []string{got.Text, got.Voice} {
		require.LessOrEqual(t, utf8.RuneCountInString(text), 20)
		require.True(t, utf8.ValidString(text) && !strings.Contains(text, "\x00"))
	}
	require.Contains(t, []string{"a", "b"}, got.Model)
	if got.Rate != nil {
		require.Contains(t, []int64{8000, 16000}, *got.Rate)
	}
}

func checkAgainstJSON(t *testing.T, got mirror, contentType string, body []byte) {
	if media, _, _ := strings.Cut(contentType, ";"); media != "application/json" {
		return
	}
	// A map distinguishes keys by case. Decoding into a struct would fold their case.
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return
	}
	same(t, members["text"], got.Text)
	same(t, members["speed"], got.Speed)
	same(t, members["debug"], got.Debug)
	same(t, members["tags"], got.Tags)
	same(t, members["model"], got.Model)
	same(t, members["voice"], got.Voice)
	if got.Rate != nil {
		same(t, members["rate"], *got.Rate)
	}
}

// same checks that a member has the value of encoding/json if that can decode it. The binder also accepts values that
// need a conversion.
func same[T any](t *testing.T, member json.RawMessage, got T) {
	var want T
	if len(member) > 0 && string(member) != "null" && json.Unmarshal(member, &want) == nil {
		require.EqualValues(t, want, got)
	}
}
