package openapi_test

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/bind"
	"github.com/recital-tts/recital/internal/http/web/openapi"
	"github.com/recital-tts/recital/internal/http/web/openapi/openapitest"
)

type songRequest struct {
	ID      string     `path:"id" maxlen:"64"`
	Verse   int        `query:"verse" default:"1" gt:"0" doc:"which one"`
	Mood    *string    `query:"mood" literal:"glad,sad" synonyms:"happy=glad" alias:"feeling"`
	Key     *string    `query:"key" nullable:"true" enum:"c,d"`
	Trace   string     `header:"x-trace" pattern:"^[a-z]+$"`
	Title   string     `body:"title" required:"true" minlen:"1" maxlen:"80"`
	Pace    *float64   `body:"pace" ge:"0.25" le:"2"`
	Loud    *bool      `body:"loud" default:"false"`
	Singers []string   `body:"singers"`
	Cover   *web.File  `body:"cover"`
	Scores  []web.File `body:"scores"`
	Home    string     `body:"home" url:"http" maxlen:"2083"`
}

type song struct {
	base
	Title    string           `json:"title" minlen:"1"`
	Singers  []singer         `json:"singers" nullable:"true"`
	Lead     *singer          `json:"lead"`
	Made     time.Time        `json:"made"`
	Parts    map[string]part  `json:"parts"`
	Rating   float64          `json:"rating" ge:"0" lt:"6" default:"0"`
	Comment  string           `json:"comment,omitempty"`
	Anything any              `json:"anything"`
	Raw      json.RawMessage  `json:"raw,omitempty"`
	Mood     string           `json:"mood" literal:"glad,sad" nullable:"true"`
	Plays    uint64           `json:"plays"`
	Dropped  string           `json:"-"`
	Sub      struct{ N int }  `json:"sub"`
	Tree     *tree            `json:"tree"`
	Numbers  map[string][]int `json:"numbers"`
}

type base struct {
	ID string `json:"id"`
}

type songHeaders struct {
	Seed    int64   `header:"x-seed" doc:"Gives the same song again."`
	Warning *string `header:"x-warning"`
	Home    *string `header:"x-home" format:"uri"`
	Left    int64   `header:"x-left" ge:"0"`
}

type singer struct {
	Name string `json:"name" doc:"as on the cover"`
}

type part string

type tree struct {
	Branches []tree `json:"branches"`
}

func answer[In any](*web.Call, In) (web.Reply, error) { return web.Reply{}, nil }

func write(t *testing.T, routes ...web.Route) map[string]any {
	t.Helper()
	written, err := openapi.Write(openapi.Info{Title: "Songs", Version: "1.1", Server: "https://songs.example/"}, routes)
	require.NoError(t, err)
	_, err = openapitest.Parse(written)
	require.NoError(t, err, "kin-openapi refuses it: %s", written)
	var document map[string]any
	require.NoError(t, json.Unmarshal(written, &document))
	return document
}

// at returns the value at a path of a document.
func at(t *testing.T, value any, path ...string) any {
	t.Helper()
	for _, name := range path {
		object, ok := value.(map[string]any)
		require.True(t, ok, "no object around %s", name)
		require.Contains(t, object, name)
		value = object[name]
	}
	return value
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

func TestInputsBecomeParametersAndABody(t *testing.T) {
	_, err := bind.Compile(reflect.TypeFor[songRequest]())
	require.NoError(t, err, "the server would refuse the tags")
	document := write(t, web.Post("/v1/song/{id}", answer[songRequest], web.Forms(), web.Returns[song](),
		web.Meanings(map[string]string{"mood": "How it sounds", "verse": "not this"})))
	require.JSONEq(t, `[
		{"name": "id", "in": "path", "required": true, "schema": {"type": "string", "maxLength": 64}},
		{"name": "verse", "in": "query", "description": "which one",
			"schema": {"type": "integer", "exclusiveMinimum": 0, "default": 1}},
		{"name": "mood", "in": "query", "description": "How it sounds. `+"`happy` is taken for `glad`. Also known as `feeling`."+`",
		 "schema": {"type": "string", "enum": ["glad", "sad"]}},
		{"name": "key", "in": "query", "schema": {"type": ["string", "null"], "enum": ["c", "d", null]}},
		{"name": "x-trace", "in": "header", "schema": {"type": "string", "pattern": "^[a-z]+$"}},
		{"$ref": "#/components/parameters/LmntVersion"}
	]`, encoded(t, at(t, document, "paths", "/v1/song/{id}", "post", "parameters")))
	require.JSONEq(t, `{"required": true, "content": {"multipart/form-data": {"schema": {"$ref": "#/components/schemas/PostSongRequestForm"}}}}`,
		encoded(t, at(t, document, "paths", "/v1/song/{id}", "post", "requestBody")), "files come in forms only")
	require.JSONEq(t, `{"type": "object", "required": ["title"], "properties": {
		"title": {"type": "string", "minLength": 1, "maxLength": 80},
		"pace": {"type": "number", "minimum": 0.25, "maximum": 2},
		"loud": {"type": "boolean", "default": false},
		"singers": {"type": "array", "items": {"type": "string"}},
		"cover": {"type": "string", "format": "binary"},
		"scores": {"type": "array", "items": {"type": "string", "format": "binary"}},
		"home": {"type": "string", "format": "uri", "maxLength": 2083}
	}}`, encoded(t, at(t, document, "components", "schemas", "PostSongRequestForm")))
	require.Equal(t, "https://songs.example", document["servers"].([]any)[0].(map[string]any)["url"])
}

// In a form, null would be sent as a text.
func TestFormsHaveNoNull(t *testing.T) {
	type setting struct {
		Name string   `body:"name"`
		Pace *float64 `body:"pace" le:"2"`
		Mood *string  `body:"mood" enum:"glad,sad"`
	}
	type plain struct {
		Name string `body:"name"`
	}
	document := write(t, web.Put("/setting", answer[setting], web.Forms(), web.Returns[song]()),
		web.Put("/plain", answer[plain], web.Forms(), web.Returns[song]()))
	content := at(t, document, "paths", "/setting", "put", "requestBody", "content")
	require.JSONEq(t, `{
		"application/json": {"schema": {"$ref": "#/components/schemas/PutSettingRequest"}},
		"application/x-www-form-urlencoded": {"schema": {"$ref": "#/components/schemas/PutSettingRequestForm"}},
		"multipart/form-data": {"schema": {"$ref": "#/components/schemas/PutSettingRequestForm"}}
	}`, encoded(t, content))
	require.JSONEq(t, `{"name": {"type": "string"}, "pace": {"type": ["number", "null"], "maximum": 2},
		"mood": {"type": ["string", "null"], "enum": ["glad", "sad", null]}}`,
		encoded(t, at(t, document, "components", "schemas", "PutSettingRequest", "properties")))
	require.JSONEq(t, `{"name": {"type": "string"}, "pace": {"type": "number", "maximum": 2},
		"mood": {"type": "string", "enum": ["glad", "sad"]}}`,
		encoded(t, at(t, document, "components", "schemas", "PutSettingRequestForm", "properties")))
	require.NotContains(t, at(t, document, "components", "schemas"), "PutPlainRequestForm")
}

func TestRepliesAreDescribedByTheirTypes(t *testing.T) {
	document := write(t, web.Get("/v1/song", answer[struct{}], web.Returns[[]song]()))
	require.JSONEq(t, `{"type": "object",
		"required": ["id", "title", "made", "parts", "anything", "plays", "sub", "numbers"],
		"properties": {
			"id": {"type": "string"},
			"title": {"type": "string", "minLength": 1},
			"singers": {"type": ["array", "null"], "items": {"$ref": "#/components/schemas/Singer"}},
			"lead": {"anyOf": [{"$ref": "#/components/schemas/Singer"}, {"type": "null"}]},
			"made": {"type": "string", "format": "date-time"},
			"parts": {"type": "object", "additionalProperties": {"type": "string"}},
			"rating": {"type": "number", "minimum": 0, "exclusiveMaximum": 6, "default": 0},
			"comment": {"type": "string"}, "anything": {}, "raw": {},
			"mood": {"type": ["string", "null"], "enum": ["glad", "sad", null]},
			"plays": {"type": "integer", "minimum": 0},
			"sub": {"type": "object", "required": ["N"], "properties": {"N": {"type": "integer"}}},
			"tree": {"anyOf": [{"$ref": "#/components/schemas/Tree"}, {"type": "null"}]},
			"numbers": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}}
		}}`, encoded(t, at(t, document, "components", "schemas", "Song")))
	require.JSONEq(t, `{"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "description": "as on the cover"}}}`,
		encoded(t, at(t, document, "components", "schemas", "Singer")))
}

func TestHeadersAreDescribedWhereTheyAreSet(t *testing.T) {
	document := write(t, web.Get("/v1/song", answer[struct{}],
		web.Returns[song](web.Sends("etag"), web.SendsHeaders[songHeaders]())))
	require.JSONEq(t, `{
		"request-id": {"description": "Names the request in logs.", "required": true, "schema": {"type": "string"}},
		"etag": {"description": "Changes with the body.", "required": true, "schema": {"type": "string"}},
		"x-seed": {"description": "Gives the same song again.", "required": true, "schema": {"type": "integer"}},
		"x-warning": {"schema": {"type": "string"}},
		"x-home": {"schema": {"type": "string", "format": "uri"}},
		"x-left": {"required": true, "schema": {"type": "integer", "minimum": 0}}
	}`, encoded(t, at(t, document, "paths", "/v1/song", "get", "responses", "200", "headers")))
}

// The statuses of an operation include those of the row's refusals.
func TestRefusalsFollowFromTheRow(t *testing.T) {
	type echo struct {
		Body []byte `raw:"body"`
	}
	type named struct {
		ID string `path:"id"`
	}
	type form struct {
		Text string `body:"text"`
	}
	document := write(t,
		web.Get("/open", answer[struct{}], web.Public(), web.ReturnsNothing(204)),
		web.Get("/closed", answer[struct{}], web.ReadModels(readmodel.Model{Name: "songs", Version: 1}), web.Returns[song](),
			web.Refuses(402)),
		web.Get("/new", answer[struct{}], web.Appends(), web.ReadModels(readmodel.Model{Name: "songs", Version: 1}),
			web.Returns[singer]()),
		web.Delete("/maybe/{id}", answer[named], web.Optional(), web.ReadModels(readmodel.Model{Name: "songs", Version: 1}),
			web.Returns[singer]()),
		web.Post("/key", answer[struct{}], web.KeyOnly(), web.Returns[singer]()),
		web.Post("/form", answer[form], web.Forms(), web.Returns[singer]()),
		web.Post("/raw", answer[echo], web.Public(), web.AppendsNothing(), web.ReturnsMedia([]string{"*/*"})),
		web.Post("/admin", answer[struct{}], web.Role("operator"), web.Returns[singer]()),
		web.Socket("/socket", func(context.Context, *web.Conn) error { return nil }),
		web.Get("/busy", answer[struct{}], web.Public(), web.Returns[singer](), web.Returns[song](web.Status(503))),
	)
	for row, want := range map[[2]string][]string{
		{"/open", "get"}:          {"204", "503", "default"},
		{"/closed", "get"}:        {"200", "400", "401", "402", "429", "503", "504", "default"},
		{"/key", "post"}:          {"200", "400", "401", "409", "429", "503", "default"},
		{"/maybe/{id}", "delete"}: {"200", "400", "401", "403", "409", "422", "429", "503", "default"},
		{"/form", "post"}:         {"200", "400", "401", "403", "409", "413", "415", "422", "429", "503", "default"},
		{"/raw", "post"}:          {"200", "413", "415", "422", "429", "503", "default"},
		{"/admin", "post"}:        {"200", "400", "401", "403", "409", "429", "503", "default"},
		{"/busy", "get"}:          {"200", "503", "default"},
	} {
		var statuses []string
		for status := range at(t, document, "paths", row[0], row[1], "responses").(map[string]any) {
			statuses = append(statuses, status)
		}
		require.ElementsMatch(t, want, statuses, row)
	}
	require.Contains(t, at(t, document, "paths", "/socket", "get", "responses"), "101")
	require.Contains(t, at(t, document, "paths", "/socket", "get", "responses"), "426")
	require.Equal(t, true, at(t, document, "paths", "/socket", "get", "x-websocket"))
	require.JSONEq(t, `[{"AdminToken": []}]`, encoded(t, at(t, document, "paths", "/admin", "post", "security")))
	require.JSONEq(t, `[{}, {"ApiKeyHeader": []}, {"SessionCookie": []}]`,
		encoded(t, at(t, document, "paths", "/maybe/{id}", "delete", "security")))
	require.Contains(t, at(t, document, "paths", "/maybe/{id}", "delete", "responses", "200", "headers"),
		"x-recital-position", "it is a write")
	require.Contains(t, at(t, document, "paths", "/new", "get", "responses", "200", "headers"), "x-recital-stale",
		"it is a write, too")
	require.JSONEq(t, `{"anyOf": [{"$ref": "#/components/schemas/Song"},
		{"anyOf": [{"$ref": "#/components/schemas/Error"}, {"$ref": "#/components/schemas/ErrorEnvelope"}]}]}`,
		encoded(t, at(t, document, "paths", "/busy", "get", "responses", "503", "content", "application/json", "schema")))
}

func TestOperationIDs(t *testing.T) {
	routes := []web.Route{
		web.Get("/v1/account/clip/{clip_id}", answer[struct{}], web.ReturnsNothing(204)),
		web.Delete("/v1/account/clip/{clip_id}", answer[struct{}], web.ReturnsNothing(204)),
		web.Post("/v1/account/api_key/{masked}/name", answer[struct{}], web.ReturnsNothing(204)),
		web.Post("/v1/ai/speech/bytes", answer[struct{}], web.ReturnsNothing(204)),
		web.Get("/speech/beta/{rest:path}", answer[struct{}], web.ReturnsNothing(204)),
	}
	document := write(t, routes...)
	for path, want := range map[[2]string]string{
		{"/v1/account/clip/{clip_id}", "get"}:         "getAccountClip",
		{"/v1/account/clip/{clip_id}", "delete"}:      "deleteAccountClip",
		{"/v1/account/api_key/{masked}/name", "post"}: "postAccountApiKeyName",
		{"/v1/ai/speech/bytes", "post"}:               "postSpeechBytes",
		{"/speech/beta/{rest}", "get"}:                "getSpeechBeta",
	} {
		require.Equal(t, want, at(t, document, "paths", path[0], path[1], "operationId"))
	}
}

func TestInvalidDescriptions(t *testing.T) {
	for name, c := range map[string]struct {
		routes []web.Route
		why    string
	}{
		"an undeclared reply": {
			[]web.Route{web.Get("/a", answer[struct{}]), web.Post("/b", answer[struct{}])},
			"GET /a: no reply is declared",
		},
		"a header without a description": {
			[]web.Route{web.Get("/a", answer[struct{}], web.ReturnsNothing(204, web.Sends("x-new")))},
			"the header x-new is not described",
		},
		"an invalid header": {
			[]web.Route{web.Get("/a", answer[struct{}], web.ReturnsNothing(204, web.SendsHeaders[songRequest]()))},
			"is no header",
		},
		"a type without JSON": {
			[]web.Route{web.Get("/a", answer[struct{}], web.Returns[chan int]())}, "chan int has no schema",
		},
		"one name for two types": {
			[]web.Route{web.Get("/a", answer[struct{}], web.Returns[singer]()), web.Get("/b", answer[struct{}], other())},
			"two different types would be the schema Singer",
		},
		"one id for two operations": {
			[]web.Route{
				web.Get("/a", answer[struct{}], web.ReturnsNothing(204)),
				web.Get("/a/{id}", answer[struct{}], web.ReturnsNothing(204)),
			},
			"the operation id getA is that of /a, too",
		},
		"an unknown status": {
			[]web.Route{web.Get("/a", answer[struct{}], web.ReturnsNothing(299))}, "the status 299 is unknown",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := openapi.Write(openapi.Info{Title: "t", Version: "1"}, c.routes)
			require.ErrorContains(t, err, c.why)
		})
	}
}

func other() web.Option {
	type singer struct {
		Age int `json:"age"`
	}
	return web.Returns[singer]()
}

func TestTheSameRoutesGiveTheSameBytes(t *testing.T) {
	routes := []web.Route{
		web.Post("/v1/song/{id}", answer[songRequest], web.Forms(),
			web.Returns[song](web.Sends("etag"), web.SendsHeaders[songHeaders]())),
		web.Get("/v1/song", answer[struct{}], web.Returns[[]song]()),
	}
	first, err := openapi.Write(openapi.Info{Title: "t", Version: "1"}, routes)
	require.NoError(t, err)
	for range 20 {
		again, err := openapi.Write(openapi.Info{Title: "t", Version: "1"}, routes)
		require.NoError(t, err)
		require.Equal(t, string(first), string(again))
	}
}

// Swagger UI shows the end of each line of a description.
func TestParagraphsOfDescriptionsAreSingleLines(t *testing.T) {
	document := write(t, web.Get("/v1/song", answer[struct{}], web.Returns[song](),
		web.Description("Two\nlines.\n\n1. An item\n   of two.\n2. Another.\n\nAn end.\n")))
	require.Equal(t, "Two lines.\n\n1. An item of two.\n2. Another.\n\nAn end.\n",
		at(t, document, "paths", "/v1/song", "get", "description"))
}
