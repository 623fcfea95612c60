package voices

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/speech/voices"
	"github.com/recital-tts/recital/readapi"
)

var nine = []string{"leah", "ava", "lily", "zeke", "morgan", "elowen", "curtis", "amy", "ansel"}

func TestTheSystemVoicesAreListed(t *testing.T) {
	s := newServer(t)
	for query, want := range map[string][]string{
		"":                         nine,
		"?owner=all&starred=false": nine,
		"?owner=all&starred=False": nine,
		"?owner=system":            nine,
		"?owner=system,me":         nine,
		"?owner=me":                {},
		"?starred=true":            {},
	} {
		listed := s.list("a1", query)
		require.Equal(t, want, ids(listed), query)
		for _, v := range listed {
			require.Equal(t, []string{"ready", "system", "intrinsic"}, []string{v.State, v.Owner, v.Type})
			require.NotEmpty(t, *v.Description)
			require.Equal(t, address+"/v1/ai/voice/"+v.ID+"/preview", *v.PreviewURL)
		}
	}
	_, body := s.answer(http.MethodGet, "/v1/ai/voice/list?owner=me", "a1")
	require.Equal(t, "[]", body)
	_, body = s.answer(http.MethodGet, "/v1/ai/voice/zeke", "a1")
	require.JSONEq(t, `{"id":"zeke","name":"Zeke","state":"ready","owner":"system","type":"intrinsic",
		"description":"Even and relaxed, a plain everyday voice.","gender":"M","starred":false,"tags":[],
		"preview_url":"`+address+`/v1/ai/voice/zeke/preview"}`, body)
}

func TestAnAccountSeesItsVoicesAndStars(t *testing.T) {
	s := newServer(t)
	first := s.create("a1", voice.Profile{Name: "First"}, ready)
	second := s.create("a1", voice.Profile{Name: "Second"})
	s.create("a2", voice.Profile{Name: "Of another"}, ready)
	s.create("a1", voice.Profile{Name: "Deleted"}, ready, deleted)
	s.star("a1", second)
	s.star("a1", "amy")
	s.star("a2", "leah")

	both := []string{first, second}
	for query, want := range map[string][]string{
		"":                          slices.Concat(nine, both),
		"?starred=false":            slices.Concat(nine, both),
		"?owner=system":             nine,
		"?owner=me":                 both,
		"?owner=me,system":          slices.Concat(nine, both),
		"?starred=true":             {"amy", second},
		"?starred=True&owner=me":    {second},
		"?starred=1&owner=system":   {"amy"},
		"?starred=true&owner=me,me": {second},
	} {
		require.Equal(t, want, ids(s.list("a1", query)), query)
	}
	for _, v := range s.list("a1", "") {
		require.Equal(t, v.ID == second || v.ID == "amy", v.Starred, v.ID)
		require.Equal(t, map[bool]string{true: "me", false: "system"}[slices.Contains(both, v.ID)], v.Owner)
	}

	// each single voice is shown as in the list, and so is the object by ids for clients of version 0
	var beta betaResponse
	_, body := s.answer(http.MethodGet, "/speech/beta/voices", "a1")
	require.NoError(t, json.Unmarshal([]byte(body), &beta))
	require.Len(t, beta.Voices, 11)
	for _, v := range s.list("a1", "") {
		response, body := s.answer(http.MethodGet, "/v1/ai/voice/"+v.ID, "a1")
		require.Equal(t, http.StatusOK, response.StatusCode, body)
		var one voices.Voice
		require.NoError(t, json.Unmarshal([]byte(body), &one))
		require.Equal(t, v, one)
		require.Equal(t, v, beta.Voices[v.ID])
	}
}

func TestAVoiceIsShownAsDocumented(t *testing.T) {
	s := newServer(t)
	id := s.create("a1", voice.Profile{
		Name: "“Grüße” <1>", Description: "a & b", Gender: "F", Accent: "scottish", Tags: []string{"calm", "<b>"},
	}, ready)
	_, body := s.answer(http.MethodGet, "/v1/ai/voice/"+id, "a1")
	signed := links.New(address, []byte("secret")).OwnedVoicePreview("", id)
	require.Contains(t, signed, "?sig=")
	require.JSONEq(t, `{"id":"`+id+`","name":"“Grüße” <1>","state":"ready","owner":"me","type":"instant",
		"description":"a & b","gender":"F","starred":false,"tags":["calm","<b>"],"preview_url":"`+signed+`"}`, body)
	_, listed := s.answer(http.MethodGet, "/v1/ai/voice/list?owner=me", "a1")
	require.Equal(t, "["+body+"]", listed)

	// a voice that is not ready has no preview, and a broken one has a reason
	preparing := s.create("a1", voice.Profile{Name: "Plain", Gender: "U"})
	_, body = s.answer(http.MethodGet, "/v1/ai/voice/"+preparing, "a1")
	require.JSONEq(t, `{"id":"`+preparing+`","name":"Plain","state":"preparing","owner":"me","type":"instant",
		"description":null,"gender":"U","starred":false,"tags":[],"preview_url":null}`, body)
	mute := s.create("a1", voice.Profile{Name: "Mute", Gender: "U"}, broken("There is no speech in the recordings"))
	_, body = s.answer(http.MethodGet, "/v1/ai/voice/"+mute, "a1")
	require.JSONEq(t, `{"id":"`+mute+`","name":"Mute","state":"broken","owner":"me","type":"instant",
		"description":null,"gender":"U","starred":false,"tags":[],"preview_url":null,
		"reason":"There is no speech in the recordings"}`, body)
}

func TestWhatIsRefused(t *testing.T) {
	s := newServer(t)
	foreign := s.create("a2", voice.Profile{Name: "Of another"}, ready)
	for _, c := range []struct {
		path, key string
		status    int
	}{
		{"/v1/ai/voice/list", "", 401},
		{"/v1/ai/voice/list?owner=nobody", "a1", 422},
		{"/v1/ai/voice/list?owner=system,nobody", "a1", 422},
		{"/v1/ai/voice/list?starred=perhaps", "a1", 422},
		{"/v1/ai/voice/" + foreign, "a1", 404},
		{"/v1/ai/voice/" + foreign, "a2", 200},
		{"/v1/ai/voice/" + foreign, "", 401},
		{"/v1/ai/voice/nobody", "a1", 404},
		{"/v1/ai/voice/f2", "a1", 404}, // the engine's own name of a voice
		{"/v1/ai/voice/..%2F..%2Fetc", "a1", 404},
		{"/v1/ai/voice/zeke", "", 401},
		{"/speech/beta/voices", "", 401},
	} {
		response, body := s.answer(http.MethodGet, c.path, c.key)
		require.Equal(t, c.status, response.StatusCode, "%s: %s", c.path, body)
	}
}

func TestThousandsOfVoicesAreListedEachOnceInOrder(t *testing.T) {
	s := newServer(t)
	for _, n := range []int{pageSize - 1, pageSize, pageSize + 1, 4*pageSize + 17} {
		account := fmt.Sprint("of", n)
		want := s.fill(account, n)
		require.Equal(t, slices.Concat(nine, want), ids(s.list(account, "")))
		require.Equal(t, want, ids(s.list(account, "?owner=me")))
		require.Empty(t, s.list(account, "?starred=true"))

		var beta betaResponse
		_, body := s.answer(http.MethodGet, "/speech/beta/voices", account)
		require.NoError(t, json.Unmarshal([]byte(body), &beta))
		require.Len(t, beta.Voices, n+9)
		response, body := s.answer(http.MethodHead, "/v1/ai/voice/list", account)
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Empty(t, body)
	}
}

func TestAVoiceIsFoundByItsName(t *testing.T) {
	s := newServer(t)
	api := &API{Models: s.Projector, Shower: voices.Shower{Keys: s.keys}}
	mine := s.create("a1", voice.Profile{Name: "Grüße"}, ready)
	s.create("a1", voice.Profile{Name: "Another"}, ready)
	first := s.create("a1", voice.Profile{Name: "Twin"}, ready)
	second := s.create("a1", voice.Profile{Name: "twin"})
	s.create("a1", voice.Profile{}, ready)
	s.create("a2", voice.Profile{Name: "Foreign"}, ready)
	s.fill("most", maxNamed)
	s.fill("more", maxNamed+1)
	for _, c := range []struct {
		account, name string
		want          []string
	}{
		{"a1", "Grüße", []string{mine}},
		{"a1", "GRÜSSE", nil},
		{"a1", "grÜße", []string{mine}},
		{"a1", "TWIN", []string{first, second}},
		{"a1", "Foreign", nil},
		{"a1", "", nil},
		{"a1", strings.Repeat("x", 100_000), nil},
		{"nobody", "Twin", nil},
		{"most", "Voice 0000000000000001", []string{"0000000000000001"}},
	} {
		found, err := api.Named(t.Context(), c.account, c.name)
		require.NoError(t, err)
		require.Equal(t, c.want, found, "%s %.20s", c.account, c.name)
	}
	_, err := api.Named(t.Context(), "more", "Voice 0000000000000001")
	require.Equal(t, domain.Invalid, domain.CodeOf(err))
	api.Models = &away{}
	_, err = api.Named(t.Context(), "a1", "Twin")
	require.Equal(t, domain.Unavailable, domain.CodeOf(err))
}

func TestAProfileEndsWithItsKey(t *testing.T) {
	s := newServer(t)
	id := s.create("a1", voice.Profile{Name: "Erased", Tags: []string{"x"}}, ready)
	other := s.create("a2", voice.Profile{Name: "There"}, ready)
	require.NoError(t, s.keys.Erase(t.Context(), "a1"))
	listed := s.list("a1", "?owner=me")
	require.Equal(t, []string{id}, ids(listed))
	require.Empty(t, listed[0].Name)
	require.Empty(t, listed[0].Tags)

	// but if the keyring is unavailable, the request fails
	s.keys = s.openKeys() // with an empty cache
	s.url = s.serve()
	_, err := s.Pool.Exec(t.Context(), `alter schema keyring rename to keyring_away`)
	require.NoError(t, err)
	for _, path := range []string{"/v1/ai/voice/list", "/v1/ai/voice/" + other, "/speech/beta/voices"} {
		response, body := s.answer(http.MethodGet, path, "a2")
		require.Equal(t, http.StatusServiceUnavailable, response.StatusCode, body)
		require.NotEmpty(t, response.Header.Get("Retry-After"))
	}
}

// away reads some pages, after which Postgres is unavailable.
type away struct {
	readapi.Models
	pages int
}

func (a *away) Read(
	ctx context.Context, models []readmodel.Model, query string, arguments []any, row func(pgx.CollectableRow) error,
) (string, error) {
	if a.pages == 0 {
		return "", domain.Refuse(domain.Unavailable, "Postgres does not answer")
	}
	a.pages--
	return a.Models.Read(ctx, models, query, arguments, row)
}

func TestAListThatCannotBeReadToItsEndIsCutOff(t *testing.T) {
	s := newServer(t)
	s.fill("a1", 2*pageSize+1)
	for _, path := range []string{"/v1/ai/voice/list", "/speech/beta/voices"} {
		s.url = s.serveOver(&away{Models: s.Projector, pages: 2})
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
		require.NoError(t, err)
		request.Header.Set("x-api-key", "a1")
		client := &http.Transport{}
		defer client.CloseIdleConnections()
		response, err := client.RoundTrip(request)
		require.NoError(t, err)
		defer response.Body.Close()
		require.Equal(t, http.StatusOK, response.StatusCode)
		_, err = io.ReadAll(response.Body)
		require.Error(t, err)

		// a failure before the first byte is a status
		s.url = s.serveOver(&away{Models: s.Projector})
		status, _ := s.answer(http.MethodGet, path, "a1")
		require.Equal(t, http.StatusServiceUnavailable, status.StatusCode)
	}
}
