package bind_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web/bind"
)

// request is a request in plain maps.
type request struct {
	path, header      map[string]string
	query             url.Values
	contentType, body string
	forms, anyType    bool
}

func (r request) bind(t testing.TB, target any) ([]bind.Item, error) {
	t.Helper()
	value := reflect.ValueOf(target).Elem()
	plan, err := bind.Compile(value.Type())
	require.NoError(t, err)
	get := func(values map[string]string) func(string) (string, bool) {
		return func(name string) (string, bool) { v, ok := values[name]; return v, ok }
	}
	return plan.Bind(value, &bind.Request{
		Path: get(r.path), Header: get(r.header),
		Query:       func(name string) []string { return r.query[name] },
		ContentType: r.contentType, Body: []byte(r.body), Forms: r.forms, AnyContentType: r.anyType,
	})
}

// requireBound checks the bound input, or the places of all errors.
func requireBound[In any](t *testing.T, r request, want In, wrong []string) {
	t.Helper()
	var got In
	items, err := r.bind(t, &got)
	require.NoError(t, err)
	require.Equal(t, wrong, places(items))
	if wrong == nil {
		require.Equal(t, want, got)
	}
}

// queryOf parses a query.
func queryOf(t *testing.T, text string) url.Values {
	t.Helper()
	query, err := url.ParseQuery(text)
	require.NoError(t, err)
	return query
}

// fieldOf returns the type of an input with one field.
func fieldOf[T any](tag reflect.StructTag) reflect.Type {
	return reflect.StructOf([]reflect.StructField{{Name: "F", Type: reflect.TypeFor[T](), Tag: tag}})
}

// places lists "type loc" of the items.
func places(items []bind.Item) []string {
	var out []string
	for _, item := range items {
		loc, _ := json.Marshal(item.Loc)
		out = append(out, item.Type+" "+string(loc))
	}
	return out
}

func TestAllErrorsAtOnceInFastAPIsOrder(t *testing.T) {
	var in struct {
		Text    string  `body:"text" required:"true"`
		Length  int     `query:"length" default:"-1" le:"10"`
		ID      string  `path:"id" minlen:"2"`
		Version string  `header:"lmnt-version" required:"true"`
		Speed   float64 `body:"speed" default:"1" le:"2"`
		Debug   bool    `query:"debug"`
	}
	items, err := request{
		path: map[string]string{"id": "x"}, query: url.Values{"length": {"11"}, "debug": {"maybe"}}, body: `{"speed":3}`,
	}.bind(t, &in)
	require.NoError(t, err)
	require.Equal(t, []string{
		`string_too_short ["path","id"]`,
		`less_than_equal ["query","length"]`,
		`bool_parsing ["query","debug"]`,
		`missing ["header","lmnt-version"]`,
		`missing ["body","text"]`,
		`less_than_equal ["body","speed"]`,
	}, places(items))
}

func TestItemsOnTheWire(t *testing.T) {
	var in struct {
		Speed float64 `query:"speed" default:"1" ge:"0.25" le:"2"`
		Text  string  `body:"text" required:"true"`
	}
	items, err := request{query: url.Values{"speed": {"3"}}, body: `{}`}.bind(t, &in)
	require.NoError(t, err)
	got, err := json.Marshal(items)
	require.NoError(t, err)
	require.JSONEq(t, `[
		{"type":"less_than_equal","loc":["query","speed"],"msg":"Input should be less than or equal to 2","ctx":{"le":2.0}},
		{"type":"missing","loc":["body","text"],"msg":"Field required"}]`, string(got))
	require.Equal(t, "speed", items[0].Field())
}

func TestQueries(t *testing.T) {
	type inputs struct {
		Page    int      `query:"page" default:"1" gt:"0"`
		Lang    *string  `query:"language"`
		Starred *bool    `query:"starred"`
		Owners  []string `query:"owner"`
	}
	text, yes := "", false
	for name, c := range map[string]struct {
		query string
		want  inputs
		wrong []string
	}{
		"given nothing, then defaults":           {"", inputs{Page: 1}, nil},
		"given a repeated scalar, then the last": {"page=1&page=7", inputs{Page: 7}, nil},
		"given a repeated list, then all": {"owner=me&owner=system",
			inputs{Page: 1, Owners: []string{"me", "system"}}, nil},
		"given an empty text, then it is a value":         {"language=", inputs{Page: 1, Lang: &text}, nil},
		"given an empty number, then it is a wrong value": {"page=", inputs{}, []string{`int_parsing ["query","page"]`}},
		"given Python's False, then false":                {"starred=False", inputs{Page: 1, Starred: &yes}, nil},
		"given an unknown name, then it is ignored":       {"colour=red", inputs{Page: 1}, nil},
		"given page 0, then its bound": {"page=0", inputs{},
			[]string{`greater_than ["query","page"]`}},
		"given bytes that are not UTF-8, then string_unicode": {"language=%ff", inputs{Page: 1},
			[]string{`string_unicode ["query","language"]`}},
		"given a NUL, then value_error": {"language=a%00", inputs{Page: 1},
			[]string{`value_error ["query","language"]`}},
		"given a bad item of a list, then its place": {"owner=me&owner=%ff", inputs{Page: 1},
			[]string{`string_unicode ["query","owner",1]`}},
	} {
		t.Run(name, func(t *testing.T) {
			requireBound(t, request{query: queryOf(t, c.query)}, c.want, c.wrong)
		})
	}
}

// A voice is a text, or an object that contains it.
func TestAnObjectMayReplaceItsText(t *testing.T) {
	type inputs struct {
		Voice string `body:"voice" required:"true" maxlen:"4" member:"id"`
		Plain string `body:"plain"`
	}
	for body, wrong := range map[string][]string{
		`{"voice":"leah"}`:                       nil,
		`{"voice":{"id":"leah","more":[1]}}`:     nil,
		`{"voice":{"id":"longer"}}`:              {`string_too_long ["body","voice"]`},
		`{"voice":{"id":null}}`:                  {`string_type ["body","voice"]`},
		`{"voice":{"id":{"id":"leah"}}}`:         {`string_type ["body","voice"]`},
		`{"voice":{}}`:                           {`string_type ["body","voice"]`},
		`{"voice":["leah"]}`:                     {`string_type ["body","voice"]`},
		`{"voice":"leah","plain":{"id":"leah"}}`: {`string_type ["body","plain"]`},
	} {
		t.Run(body, func(t *testing.T) { requireBound(t, request{body: body}, inputs{Voice: "leah"}, wrong) })
	}
}

// speech is a body like that of the speech routes.
type speech struct {
	Text   string   `body:"text" required:"true" minlen:"1" maxlen:"10"`
	Format string   `body:"format" alias:"response_format" default:"mp3" literal:"mp3,wav,ulaw" synonyms:"mulaw=ulaw"`
	Speed  float64  `body:"speed" default:"1" ge:"0.25" le:"2"`
	Rate   *int     `body:"sample_rate" enum:"8000,16000,24000"`
	Debug  bool     `body:"debug"`
	Tags   []string `body:"tags" alias:"tags[]"`
}

func TestBodies(t *testing.T) {
	rate := 8000
	hello := speech{Text: "hello", Format: "mp3", Speed: 1}
	with := func(change func(*speech)) speech { s := hello; change(&s); return s }
	const form, json = "application/x-www-form-urlencoded", "application/json"
	for name, c := range map[string]struct {
		contentType, body string
		want              speech
		wrong             []string
	}{
		"given JSON": {json, `{"text":"hello"}`, hello, nil},
		"given JSON of a vendor": {"application/vnd.x+json; charset=utf-8", `{"text":"hello"}`,
			hello, nil},
		"given no content type, then JSON": {"", `{"text":"hello"}`, hello, nil},
		"given text/plain, then no object": {"text/plain", `{"text":"hello"}`, speech{},
			[]string{`model_attributes_type ["body"]`}},
		"given a list, then no object": {json, `["text"]`, speech{},
			[]string{`model_attributes_type ["body"]`}},
		"given a string, then no object": {json, `"text"`, speech{},
			[]string{`model_attributes_type ["body"]`}},
		"given no JSON, then one error for the body": {json, ``, speech{}, []string{`missing ["body"]`}},
		"given no body, then each missing field":     {"", ``, speech{}, []string{`missing ["body","text"]`}},
		"given null, then no object": {json, `null`, speech{},
			[]string{`model_attributes_type ["body"]`}},
		"given truncated JSON, then the offset": {json, `{"text":"hello"`, speech{},
			[]string{`json_invalid ["body",15]`}},
		"given a missing field": {json, `{}`, speech{}, []string{`missing ["body","text"]`}},
		"given null for a required text, then no text": {json, `{"text":null}`, speech{},
			[]string{`string_type ["body","text"]`}},
		"given null, then the field is absent": {json,
			`{"text":"hello","sample_rate":null,"speed":null,"format":null,"debug":null,"tags":null}`, hello, nil},
		"given null and an alias, then the alias": {json, `{"text":"hello","format":null,"response_format":"wav"}`,
			with(func(s *speech) { s.Format = "wav" }), nil},
		"given a number in a string": {json, `{"text":"hello","sample_rate":"8000"}`,
			with(func(s *speech) { s.Rate = &rate }), nil},
		"given an unknown key, then it is ignored": {json, `{"text":"hello","colour":{"a":[]}}`, hello, nil},
		"given equal keys, then the last":          {json, `{"text":1,"text":"hello"}`, hello, nil},
		"given an alias": {json, `{"text":"hello","response_format":"wav"}`,
			with(func(s *speech) { s.Format = "wav" }), nil},
		"given a name and its alias, then the name": {json,
			`{"text":"hello","response_format":"wav","format":"ulaw"}`, with(func(s *speech) { s.Format = "ulaw" }), nil},
		"given a synonym, then its value": {json, `{"text":"hello","format":"mulaw"}`,
			with(func(s *speech) { s.Format = "ulaw" }), nil},
		"given an unknown format": {json, `{"text":"hello","format":"ogg"}`, speech{},
			[]string{`literal_error ["body","format"]`}},
		"given ten emojis, then they fit": {json, `{"text":"🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉"}`,
			with(func(s *speech) { s.Text = strings.Repeat("🎉", 10) }), nil},
		"given eleven characters, then too long": {json, `{"text":"elevencharl"}`, speech{},
			[]string{`string_too_long ["body","text"]`}},
		"given an empty text, then too short": {json, `{"text":""}`, speech{},
			[]string{`string_too_short ["body","text"]`}},
		"given a lone surrogate": {json, `{"text":"\ud800"}`, speech{},
			[]string{`string_unicode ["body","text"]`}},
		"given bytes that are not UTF-8": {json, "{\"text\":\"\xff\"}", speech{},
			[]string{`string_unicode ["body","text"]`}},
		"given a NUL": {json, `{"text":"a\u0000"}`, speech{},
			[]string{`value_error ["body","text"]`}},
		"given NaN, which is not JSON": {json, `{"text":"hello","speed":NaN}`, speech{},
			[]string{`json_invalid ["body",24]`}},
		"given a wrong list and a wrong item": {json, `{"text":"hello","tags":["a",1]}`, speech{},
			[]string{`string_type ["body","tags",1]`}},
		"given a form": {form, "text=hello&speed=0.5&debug=True&tags=a&tags%5B%5D=b+c",
			with(func(s *speech) { s.Speed, s.Debug, s.Tags = 0.5, true, []string{"a", "b c"} }), nil},
		"given empty form fields, then absent":             {form, "text=hello&speed=&sample_rate=", hello, nil},
		"given an empty required form field, then missing": {form, "text=", speech{}, []string{`missing ["body","text"]`}},
		"given an empty form, then each missing field":     {form, "", speech{}, []string{`missing ["body","text"]`}},
		"given a NUL in a form": {form, "text=%00", speech{},
			[]string{`value_error ["body","text"]`}},
		"given a broken escape in a form, then as it is": {form, "text=5%25+%zz",
			with(func(s *speech) { s.Text = "5%25 %zz" }), nil},
	} {
		t.Run(name, func(t *testing.T) {
			requireBound(t, request{contentType: c.contentType, body: c.body, forms: true}, c.want, c.wrong)
		})
	}
}

func TestAnyContentTypeIsReadAsJSON(t *testing.T) {
	for _, contentType := range []string{"text/plain;charset=UTF-8", "application/x-www-form-urlencoded", "bananas"} {
		var got speech
		items, err := request{contentType: contentType, body: `{"text":"hello"}`, anyType: true}.bind(t, &got)
		require.NoError(t, err)
		require.Empty(t, items)
		require.Equal(t, "hello", got.Text)
	}
}

// part is one part of a multipart body; a nil file name makes it a text.
type part struct {
	name, content string
	file          *string
}

func multipartBody(t testing.TB, parts ...part) (contentType, body string) {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, p := range parts {
		var err error
		var to interface{ Write([]byte) (int, error) }
		if p.file != nil {
			to, err = w.CreateFormFile(p.name, *p.file)
		} else {
			to, err = w.CreateFormField(p.name)
		}
		require.NoError(t, err)
		_, err = to.Write([]byte(p.content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return w.FormDataContentType(), out.String()
}

// upload is the input of a form with files.
type upload struct {
	Text  string      `body:"text" required:"true"`
	Audio bind.File   `body:"audio" required:"true"`
	Files []bind.File `body:"files" alias:"files[],file_field"`
	Extra *bind.File  `body:"extra"`
}

// file is a file of a form.
func file(content string) bind.File {
	hash := sha256.Sum256([]byte(content))
	kept := io.NewSectionReader(bytes.NewReader([]byte(content)), 0, int64(len(content)))
	return bind.File{
		Name: "a.wav", ContentType: "application/octet-stream", Content: kept, SHA256: hex.EncodeToString(hash[:]),
	}
}

func TestMultipart(t *testing.T) {
	wav, none := "a.wav", ""
	for name, c := range map[string]struct {
		parts []part
		want  upload
		wrong []string
	}{
		"given all fields, then all": {[]part{
			{"audio", "RIFF", &wav}, {"text", "hi", nil}, {"file_field", "1", &wav}, {"file_field", "2", &wav},
		}, upload{Text: "hi", Audio: file("RIFF"), Files: []bind.File{file("1"), file("2")}}, nil},
		"given no fields, then the required ones": {nil, upload{}, []string{
			`missing ["body","text"]`, `missing ["body","audio"]`,
		}},
		"given a text for a file": {[]part{{"audio", "RIFF", nil}, {"text", "hi", nil}}, upload{},
			[]string{`value_error ["body","audio"]`}},
		"given a file for a text, then its content": {[]part{{"audio", "RIFF", &wav}, {"text", "hi", &wav}},
			upload{Text: "hi", Audio: file("RIFF")}, nil},
		"given a field left empty, then it is absent": {[]part{{"audio", "", &none}, {"text", "hi", nil}}, upload{},
			[]string{`missing ["body","audio"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			contentType, body := multipartBody(t, c.parts...)
			requireBound(t, request{contentType: contentType, body: body, forms: true}, c.want, c.wrong)
		})
	}
}

// Python's client of version 1 sends its forms like this.
func TestAFormWithTypeMixed(t *testing.T) {
	wav := "a.wav"
	contentType, body := multipartBody(t, part{"audio", "RIFF", &wav}, part{"text", "hi", nil})
	var got upload
	items, err := request{contentType: strings.Replace(contentType, "form-data", "mixed", 1), body: body, forms: true}.
		bind(t, &got)
	require.NoError(t, err)
	require.Empty(t, items)
	require.Equal(t, upload{Text: "hi", Audio: file("RIFF")}, got)
}

func TestMalformedMultipart(t *testing.T) {
	contentType, body := multipartBody(t, part{name: "text", content: "hi"})
	many := make([]part, 1100)
	for i := range many {
		many[i] = part{name: "text", content: "x"}
	}
	manyType, manyBody := multipartBody(t, many...)
	for name, c := range map[string]struct{ contentType, body, want string }{
		"no boundary":    {"multipart/form-data", body, "Missing boundary in multipart."},
		"cut":            {contentType, body[:len(body)-20], "There was an error parsing the body"},
		"other boundary": {"multipart/form-data; boundary=x", body, "There was an error parsing the body"},
		"too many parts": {manyType, manyBody, "There was an error parsing the body"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := request{contentType: c.contentType, body: c.body, forms: true}.bind(t, &speech{})
			var malformed *bind.MalformedError
			require.ErrorAs(t, err, &malformed)
			require.Equal(t, c.want, malformed.Detail)
		})
	}
}

func TestRawBodyIsUntouched(t *testing.T) {
	var in struct {
		Length int    `query:"length" default:"-1"`
		Body   []byte `raw:"body"`
	}
	items, err := request{contentType: "application/json", body: "{not json\x00\xff"}.bind(t, &in)
	require.NoError(t, err)
	require.Empty(t, items)
	require.Equal(t, "{not json\x00\xff", string(in.Body))
	require.Equal(t, -1, in.Length)

	var required struct {
		Body []byte `raw:"body" required:"true"`
	}
	items, err = request{}.bind(t, &required)
	require.NoError(t, err)
	require.Equal(t, []string{`missing ["body"]`}, places(items))
}

func TestOptionalBodyMayBeEmpty(t *testing.T) {
	var in struct {
		Name *string `body:"name"`
		Rate int     `body:"rate" default:"5"`
	}
	items, err := request{contentType: "application/json"}.bind(t, &in)
	require.NoError(t, err)
	require.Empty(t, items)
	require.Nil(t, in.Name)
	require.Equal(t, 5, in.Rate)
}

func TestEmbeddedStructsAreFlattened(t *testing.T) {
	type Common struct {
		Voice string `body:"voice" required:"true"`
	}
	var in struct {
		Common
		Text string `body:"text" required:"true"`
	}
	items, err := request{body: `{"voice":"leah","text":"hi"}`}.bind(t, &in)
	require.NoError(t, err)
	require.Empty(t, items)
	require.Equal(t, "leah", in.Voice)
}

func TestURLsAreNormalisedAsABrowserReadsThem(t *testing.T) {
	for text, want := range map[string]string{
		"http://a":                     "http://a/",
		" HTTPS://EXAMPLE.com:8443/x ": "https://example.com:8443/x",
		`http:\\evil.example\@good`:    "http://evil.example/@good",
		"http:evil.example":            "http://evil.example/",
		"https://good@evil.example/":   "https://good@evil.example/",
		"http://ä.de/?q=ä":             "http://xn--4ca.de/?q=ä",
		"ht\ntp://a\t/b":               "http://a/b",
	} {
		var in struct {
			Redirect string `query:"redirect" url:"http"`
		}
		items, err := request{query: url.Values{"redirect": {text}}}.bind(t, &in)
		require.NoError(t, err)
		require.Empty(t, items, text)
		require.Equal(t, want, in.Redirect)
	}
}

// size implements encoding.TextUnmarshaler.
type size struct{ Width, Height int }

func (s *size) UnmarshalText(text []byte) error {
	if _, err := fmt.Sscanf(string(text), "%dx%d", &s.Width, &s.Height); err != nil {
		return errors.New("a size looks like 3x4")
	}
	return nil
}

func TestTextUnmarshalers(t *testing.T) {
	type inputs struct {
		Size  size  `query:"size" default:"1x1" maxlen:"6"`
		Other *size `body:"other"`
	}
	for name, c := range map[string]struct {
		query, body string
		want        inputs
		wrong       []string
	}{
		"given none, then the default": {"", `{}`, inputs{Size: size{1, 1}}, nil},
		"given texts":                  {"size=3x4", `{"other":"5x6"}`, inputs{Size: size{3, 4}, Other: &size{5, 6}}, nil},
		"given other texts": {"size=3", `{"other":"x"}`, inputs{}, []string{
			`value_error ["query","size"]`, `value_error ["body","other"]`,
		}},
		"given a text that is too long":  {"size=1000x1000", `{}`, inputs{}, []string{`string_too_long ["query","size"]`}},
		"given a number, then no string": {"", `{"other":3}`, inputs{}, []string{`string_type ["body","other"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			requireBound(t, request{query: queryOf(t, c.query), body: c.body}, c.want, c.wrong)
		})
	}
}

func TestSeveralValuesOfASet(t *testing.T) {
	type inputs struct {
		Owner string `query:"owner" default:"all" literal:"system,me,all" several:"true"`
	}
	for text, wrong := range map[string][]string{
		"owner=me": nil, "owner=system,me": nil, "owner=": {`literal_error ["query","owner"]`},
		"owner=me,you": {`literal_error ["query","owner"]`},
	} {
		items, err := request{query: queryOf(t, text)}.bind(t, &inputs{})
		require.NoError(t, err)
		require.Equal(t, wrong, places(items), text)
	}
}

func TestAnInputIsRequiredUnlessAnotherIsGiven(t *testing.T) {
	type inputs struct {
		Code  string `query:"code" required:"true" unless:"error"`
		State string `query:"state" required:"true"`
		Error string `query:"error"`
	}
	for text, wrong := range map[string][]string{
		"":                {`missing ["query","code"]`, `missing ["query","state"]`},
		"state=s":         {`missing ["query","code"]`},
		"state=s&error=":  {`missing ["query","code"]`},
		"error=e":         {`missing ["query","state"]`},
		"state=s&error=e": nil,
		"state=s&code=c":  nil,
	} {
		items, err := request{query: queryOf(t, text)}.bind(t, &inputs{})
		require.NoError(t, err)
		require.Equal(t, wrong, places(items), text)
	}
}

func TestALateCheckNamesTheSourceOfItsInput(t *testing.T) {
	type request struct {
		Text string `in:"text"`
		Mark string `header:"x-mark"`
	}
	variants := bind.Variants{"post": "body", "get": "query"}
	for variant, source := range variants {
		plan, err := variants.Variant(variant).Compile(reflect.TypeFor[request]())
		require.NoError(t, err)
		require.Equal(t, []any{source, "text"}, plan.Wrong("text", "it is").Loc)
		require.Equal(t, []any{"header", "x-mark"}, plan.Wrong("x-mark", "it is").Loc)
	}
	plan, err := bind.Compile(reflect.TypeFor[struct {
		Audio []byte `raw:"body"`
	}]())
	require.NoError(t, err)
	require.Equal(t, []any{"body"}, plan.Wrong("", "it is").Loc)
}

func TestWrongTagsAreErrorsAtStart(t *testing.T) {
	for name, in := range map[string]reflect.Type{
		"no source":         fieldOf[string](``),
		"two sources":       fieldOf[string](`query:"f" body:"f"`),
		"an unknown tag":    fieldOf[string](`query:"f" maxlenn:"3"`),
		"an unreadable tag": fieldOf[string](`query:f`),
		"not exported": reflect.TypeFor[struct {
			f string `query:"f"`
		}](),
		"an invalid type":        fieldOf[complex128](`query:"f"`),
		"bounds on a text":       fieldOf[string](`query:"f" ge:"1"`),
		"an invalid bound":       fieldOf[int](`query:"f" ge:"one"`),
		"a length of a number":   fieldOf[int](`query:"f" maxlen:"1"`),
		"a bad pattern":          fieldOf[string](`query:"f" pattern:"("`),
		"a bad default":          fieldOf[int](`query:"f" default:"one"`),
		"a default out of range": fieldOf[int](`query:"f" default:"3" le:"2"`),
		"a default outside":      fieldOf[string](`query:"f" default:"c" literal:"a,b"`),
		"required and default":   fieldOf[int](`query:"f" default:"3" required:"true"`),
		"required what":          fieldOf[int](`query:"f" required:"yes"`),
		"two sets":               fieldOf[string](`query:"f" enum:"a" literal:"a"`),
		"an enum of no numbers":  fieldOf[int](`query:"f" enum:"a"`),
		"a member of a number":   fieldOf[int](`body:"f" member:"id"`),
		"a member in a query":    fieldOf[string](`query:"f" member:"id"`),
		"a synonym of nothing":   fieldOf[string](`query:"f" enum:"a" synonyms:"b=c"`),
		"a file in a query":      fieldOf[bind.File](`query:"f"`),
		"raw and fields": reflect.TypeFor[struct {
			F []byte `raw:"body"`
			G string `body:"g"`
		}](),
		"raw into a text":    fieldOf[string](`raw:"body"`),
		"bytes from a query": fieldOf[[]byte](`query:"f"`),
		"not a struct":       reflect.TypeFor[string](),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bind.Compile(in)
			require.Error(t, err)
		})
	}
}
