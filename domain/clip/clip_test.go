package clip_test

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/domain/spec"
)

type (
	row    = spec.Case[clip.State, clip.Event]
	events = []clip.Event
)

var (
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	id   = strings.Repeat("0f", 16)
)

func save(change ...func(*clip.Save)) clip.Save {
	c := clip.Save{
		Clip: id, Account: "a1", Voice: "leah", Language: "en-us", Speed: 1, Format: "mp3", SampleRate: 24000,
		MediaType:  "audio/mpeg",
		Characters: 5, Milliseconds: 900, Blob: "b1", Bytes: 3000, Seed: 7, Debug: true, Sealed: []byte{1}, At: noon,
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func deleted() clip.Event { return clip.Deleted{Clip: id, Account: "a1", Blob: "b1", At: noon} }

func TestSave(t *testing.T) {
	saved := clip.Saved(save())
	spec.Run(t, clip.Evolve, []row{
		{Name: "a clip is saved", When: save(), Then: events{saved}},
		{Name: "saving it again changes nothing", Given: events{saved}, When: save()},
		{Name: "an id is one clip's", Given: events{saved}, When: save(func(c *clip.Save) { c.Blob = "b2" }),
			Refused: domain.Conflict},
		{Name: "an id is one account's", Given: events{saved}, When: save(func(c *clip.Save) { c.Account = "a2" }),
			Refused: domain.Conflict},
		{Name: "what was deleted does not come back", Given: events{saved, deleted()}, When: save(),
			Refused: domain.Conflict},
		{Name: "there is audio", When: save(func(c *clip.Save) { c.Bytes = 0 }), Refused: domain.Invalid},
		{Name: "the audio is somewhere", When: save(func(c *clip.Save) { c.Blob = "" }), Refused: domain.Invalid},
		{Name: "the text is sealed", When: save(func(c *clip.Save) { c.Sealed = nil }), Refused: domain.Invalid},
		{Name: "the id can be one", When: save(func(c *clip.Save) { c.Clip = "../x" }), Refused: domain.Invalid},
	})
}

func TestDelete(t *testing.T) {
	saved := clip.Saved(save())
	remove := clip.Delete{Clip: id, Account: "a1", At: noon}
	spec.Run(t, clip.Evolve, []row{
		{Name: "a clip is deleted, and the event says which blob goes with it", Given: events{saved}, When: remove,
			Then: events{deleted()}},
		{Name: "once", Given: events{saved, deleted()}, When: remove, Refused: domain.NotFound},
		{Name: "it must be there", When: remove, Refused: domain.NotFound},
		{Name: "others' clips are not found", Given: events{saved}, When: clip.Delete{Clip: id, Account: "a2", At: noon},
			Refused: domain.NotFound},
	})
}

func TestIDs(t *testing.T) {
	drawn, err := clip.DrawID(rand.Reader)
	require.NoError(t, err)
	require.True(t, clip.ValidID(drawn))
	other, err := clip.DrawID(rand.Reader)
	require.NoError(t, err)
	require.NotEqual(t, drawn, other)
	_, err = clip.DrawID(bytes.NewReader(make([]byte, 15)))
	require.Error(t, err, "half an id is none")

	for _, text := range []string{"", "x", drawn[:31], drawn + "0", strings.ToUpper(strings.Repeat("af", 16)),
		strings.Repeat("g0", 16), strings.Repeat("./", 16)} {
		require.False(t, clip.ValidID(text), "%q", text)
	}
}
