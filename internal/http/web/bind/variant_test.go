package bind_test

import (
	"net/url"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web/bind"
)

type song struct {
	Title string `in:"title" required:"true"`
	Mood  string `in:"mood" form.alias:"feeling" default:"glad" form.default:"sad" literal:"glad,sad" synonyms:"happy=glad" address.synonyms:""`
	Pace  int    `in:"pace" ge:"1" address.after:"verse"`
	Verse *int   `in:"verse" for:"address,note"`
	Loud  *bool  `in:"loud" for:"form"`
	ID    string `path:"id"`
}

func variants() bind.Variants {
	return bind.Variants{"address": "query", "form": "body", "note": "body"}
}

func bindSong(t *testing.T, variant, text string) (song, []bind.Item) {
	t.Helper()
	plan, err := variants().Variant(variant).Compile(reflect.TypeFor[song]())
	require.NoError(t, err)
	query, _ := url.ParseQuery(text) // or it is a body
	var got song
	items, err := plan.Bind(reflect.ValueOf(&got).Elem(), &bind.Request{
		Path:        func(string) (string, bool) { return "1", true },
		Query:       func(name string) []string { return query[name] },
		ContentType: "application/json", Body: []byte(text),
	})
	require.NoError(t, err)
	return got, items
}

func TestAVariantHasItsSourceFieldsAndTags(t *testing.T) {
	got, items := bindSong(t, "address", "title=a&verse=2&loud=true&feeling=sad")
	require.Empty(t, items)
	require.Equal(t, song{Title: "a", Mood: "glad", Verse: new(2), ID: "1"}, got)

	got, items = bindSong(t, "form", `{"title":"a","verse":2,"loud":true,"pace":null}`)
	require.Empty(t, items)
	require.Equal(t, song{Title: "a", Mood: "sad", Loud: new(true), ID: "1"}, got)

	got, items = bindSong(t, "form", `{"title":"a","feeling":"happy"}`)
	require.Empty(t, items)
	require.Equal(t, "glad", got.Mood)

	_, items = bindSong(t, "address", "mood=happy&pace=0&verse=x")
	require.Equal(t, []string{"title", "mood", "verse", "pace"}, []string{
		items[0].Field(), items[1].Field(), items[2].Field(), items[3].Field(),
	})
	require.Equal(t, []any{"query", "title"}, items[0].Loc)
	_, items = bindSong(t, "note", `{"pace":0,"verse":"x"}`)
	require.Equal(t, []string{"title", "pace", "verse"}, []string{items[0].Field(), items[1].Field(), items[2].Field()})
	require.Equal(t, []any{"body", "title"}, items[0].Loc)
}

func TestFieldsDescribeTheirTags(t *testing.T) {
	plan, err := variants().Variant("form").Compile(reflect.TypeFor[song]())
	require.NoError(t, err)
	fields := plan.Fields()
	require.Len(t, fields, 5)
	require.Equal(t, bind.Field{
		Source: "body", Name: "mood", Aliases: []string{"feeling"}, Type: reflect.TypeFor[string](),
		Rules: bind.Rules{
			Values: []any{"glad", "sad"}, Synonyms: []bind.Synonym{{Word: "happy", For: "glad"}}, Default: "sad",
		},
	}, fields[2])
	require.Equal(t, bind.Field{
		Source: "body", Name: "loud", Type: reflect.TypeFor[bool](), Pointer: true, Aliases: []string{},
	}, fields[4])
}

func TestWrongVariants(t *testing.T) {
	for name, in := range map[string]reflect.Type{
		"an unknown variant":          fieldOf[string](`in:"f" for:"form,letter"`),
		"a tag of an unknown variant": fieldOf[string](`in:"f" letter.default:"x"`),
		"a source of a variant":       fieldOf[string](`in:"f" form.query:"g"`),
		"two sources":                 fieldOf[string](`in:"f" body:"g"`),
		"after nothing":               fieldOf[string](`in:"f" after:"g"`),
		"an unknown tag of a variant": fieldOf[string](`in:"f" form.defualt:"x"`),
	} {
		_, err := variants().Variant("form").Compile(in)
		require.Error(t, err, name)
	}
	_, err := variants().Variant("letter").Compile(reflect.TypeFor[song]())
	require.Error(t, err)
	_, err = bind.Compile(reflect.TypeFor[song]())
	require.Error(t, err, "it needs a variant")
}

func TestTagsOfReplies(t *testing.T) {
	type reply struct {
		Good  int64          `json:"good,omitempty" ge:"1" default:"7" doc:"how much"`
		Other map[string]int `json:"other" nullable:"true"`
		Bound map[string]int `ge:"1"`
		Query string         `query:"q"`
		Typo  string         `dco:"what"`
		None  struct{}       `default:"1"`
	}
	at := func(name string) (bind.Field, error) {
		f, _ := reflect.TypeFor[reply]().FieldByName(name)
		return bind.Describe(f)
	}
	good, err := at("Good")
	require.NoError(t, err)
	require.Equal(t, bind.Field{
		Type: reflect.TypeFor[int64](), Doc: "how much", Rules: bind.Rules{GE: new(1.0), Default: int64(7)},
	}, good)
	other, err := at("Other")
	require.NoError(t, err)
	require.True(t, other.Nullable)
	for _, name := range []string{"Bound", "Query", "Typo", "None"} {
		_, err := at(name)
		require.Error(t, err, name)
	}
}
