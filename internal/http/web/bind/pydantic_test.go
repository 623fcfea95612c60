package bind_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web/bind"
)

// table has an input for each field type of testdata/generate.py.
var table = map[string]reflect.Type{
	"int":       fieldOf[int](`body:"f" required:"true"`),
	"int_gt0":   fieldOf[int](`body:"f" required:"true" gt:"0"`),
	"int_lt10":  fieldOf[int64](`body:"f" required:"true" lt:"10"`),
	"int_null":  fieldOf[*int](`body:"f" required:"true"`),
	"float":     fieldOf[float64](`body:"f" required:"true"`),
	"speed":     fieldOf[float64](`body:"f" required:"true" ge:"0.25" le:"2"`),
	"length":    fieldOf[float64](`body:"f" required:"true" ge:"0.1" le:"300"`),
	"float_ge":  fieldOf[float64](`body:"f" required:"true" ge:"0"`),
	"bool":      fieldOf[bool](`body:"f" required:"true"`),
	"bool_null": fieldOf[*bool](`body:"f" required:"true"`),
	"str":       fieldOf[string](`body:"f" required:"true"`),
	"str_null":  fieldOf[*string](`body:"f" required:"true"`),
	"text":      fieldOf[string](`body:"f" required:"true" minlen:"1" maxlen:"5"`),
	"text2":     fieldOf[string](`body:"f" required:"true" minlen:"2"`),
	"pattern":   fieldOf[string](`body:"f" required:"true" pattern:"^[a-z]+$"`),
	"model":     fieldOf[string](`body:"f" required:"true" literal:"aurora,blizzard,blizzard-2.0,blizzard-2.1,blizzard-dialogue"`),
	"one":       fieldOf[string](`body:"f" required:"true" literal:"only"`),
	"rate":      fieldOf[int](`body:"f" required:"true" enum:"8000,16000,24000"`),
	"rate_null": fieldOf[*int](`body:"f" required:"true" enum:"8000,16000,24000"`),
	"provider":  fieldOf[string](`body:"f" required:"true" enum:"idp_1,idp_2,idp_3,idp_4"`),
	"tags":      fieldOf[[]string](`body:"f" required:"true"`),
	"tags_null": fieldOf[*[]string](`body:"f" required:"true"`),
	"url":       fieldOf[string](`body:"f" required:"true" url:"http" minlen:"1" maxlen:"2083"`),
}

type pydanticCase struct {
	Field  string          `json:"field"`
	Input  json.RawMessage `json:"input"`
	Value  json.RawMessage `json:"value"`
	Errors []bind.Item     `json:"errors"`
}

// TestSameAnswersAsPydantic binds every field type to every value of the table with pydantic's answers
// (testdata/generate.py) and checks for the same value or the same errors.
func TestSameAnswersAsPydantic(t *testing.T) {
	raw, err := os.ReadFile("testdata/pydantic.json")
	require.NoError(t, err)
	var golden struct{ Cases []pydanticCase }
	require.NoError(t, json.Unmarshal(raw, &golden))
	require.Greater(t, len(golden.Cases), 2000)
	for _, c := range golden.Cases {
		t.Run(c.Field+"/"+strings.ReplaceAll(string(c.Input), "/", "_"), func(t *testing.T) { c.check(t) })
	}
}

func (c pydanticCase) check(t *testing.T) {
	target := reflect.New(table[c.Field]).Elem()
	plan, err := bind.Compile(target.Type())
	require.NoError(t, err)
	items, err := plan.Bind(target, &bind.Request{
		ContentType: "application/json", Body: []byte(`{"f":` + string(c.Input) + `}`),
	})
	require.NoError(t, err)
	if c.refusesNonFinite() {
		require.Equal(t, "finite_number", items[0].Type)
		return
	}
	for i, want := range c.Errors {
		c.Errors[i].Loc = append([]any{"body", "f"}, want.Loc...)
	}
	requireSame(t, c.Errors, items)
	if len(c.Errors) == 0 && c.Field != "url" {
		c.checkValue(t, target.Field(0))
	}
}

// refusesNonFinite reports our other difference: pydantic accepts NaN and infinities for a float without bounds.
func (c pydanticCase) refusesNonFinite() bool {
	value := string(c.Value)
	return c.Field == "float" && (value == `"nan"` || strings.HasSuffix(value, `inf"`)) || c.Field == "float_ge" &&
		value == `"inf"`
}

func (c pydanticCase) checkValue(t *testing.T, got reflect.Value) {
	if got.Kind() == reflect.Pointer {
		if string(c.Value) == "null" {
			require.True(t, got.IsNil())
			return
		}
		got = got.Elem()
	}
	if got.Kind() == reflect.Float64 {
		text, err := strconv.Unquote(string(c.Value))
		require.NoError(t, err)
		want, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(want), math.Float64bits(got.Float()))
		return
	}
	want := reflect.New(got.Type())
	require.NoError(t, json.Unmarshal(c.Value, want.Interface()))
	require.Equal(t, want.Elem().Interface(), got.Interface())
}

// requireSame compares items as they are on the wire.
func requireSame(t *testing.T, want, got []bind.Item) {
	t.Helper()
	encoded, err := json.Marshal(got)
	require.NoError(t, err)
	var items []bind.Item
	require.NoError(t, json.Unmarshal(encoded, &items))
	require.Equal(t, want, items)
}

// routes has one struct for each route of testdata/generate.py.
var routes = map[string]any{
	"form": struct {
		ID     string `body:"id" required:"true"`
		Rating string `body:"rating" required:"true" literal:"up,down"`
		N      int    `body:"n" default:"1"`
	}{},
	"upload": struct {
		Text  string    `body:"text" required:"true" minlen:"2"`
		Audio bind.File `body:"audio" required:"true"`
	}{},
	"json": struct {
		Text  string   `body:"text" required:"true"`
		Model string   `body:"model" default:"a" literal:"a,b"`
		Tags  []string `body:"tags" minlen:"1" maxlen:"3" maxitems:"2"`
		N     *int     `body:"n"`
	}{},
	"query": struct {
		Code     string `query:"code" required:"true"`
		State    string `query:"state" required:"true"`
		Provider string `query:"provider" required:"true" enum:"idp_1,idp_2,idp_3,idp_4"`
		Page     int    `query:"page" default:"1" gt:"0"`
	}{},
}

// TestSameAnswersAsFastAPI binds requests with FastAPI's answers (testdata/generate.py) and checks for the same errors.
func TestSameAnswersAsFastAPI(t *testing.T) {
	raw, err := os.ReadFile("testdata/fastapi.json")
	require.NoError(t, err)
	var golden struct {
		Cases []struct {
			Route       string
			ContentType string `json:"content_type"`
			Body        string
			Status      int
			Errors      []bind.Item
		}
	}
	require.NoError(t, json.Unmarshal(raw, &golden))
	require.Greater(t, len(golden.Cases), 40)
	for _, c := range golden.Cases {
		if c.Body == "id=x&id=&rating=up" {
			continue // FastAPI takes the last value; here an empty text of a form is never a value
		}
		t.Run(c.Route+"/"+c.ContentType+"/"+c.Body, func(t *testing.T) {
			r := request{contentType: c.ContentType, body: c.Body, forms: c.Route == "form" || c.Route == "upload"}
			if c.Route == "query" {
				r.query = queryOf(t, c.Body)
			}
			items, err := r.bind(t, reflect.New(reflect.TypeOf(routes[c.Route])).Interface())
			var malformed *bind.MalformedError
			require.Equal(t, c.Status == 400, errors.As(err, &malformed), "%v", err)
			for i := range items {
				if items[i].Type == "value_error" {
					items[i].Ctx, c.Errors[i].Ctx = nil, nil // FastAPI's is an empty object
				}
			}
			requireSame(t, c.Errors, items)
		})
	}
}
