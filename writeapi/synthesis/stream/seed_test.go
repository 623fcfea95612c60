package stream_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

const fable = "The fox, who was hungry, looked up at the grapes. They hung high. He jumped, and jumped again, but in " +
	"vain! Then he went away."

// hearAll returns the audio of a text that is sent in a number of pieces, with a flush in its middle.
func (h *house) hearAll(t *testing.T, key, settings string, pieces int) []byte {
	t.Helper()
	c := h.begin(t, key, settings)
	half := len(fable) / 2
	for _, part := range []string{fable[:half], fable[half:]} {
		for i := range pieces {
			c.send(fmt.Sprintf(`{"text":%q}`, part[i*len(part)/pieces:(i+1)*len(part)/pieces]))
		}
		c.send(`{"flush":true}`)
	}
	c.send(`{"eof":true}`)
	frames, code := c.rest()
	require.Equal(t, 1000, code)
	require.Empty(t, texts(frames))
	return sound(frames)
}

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	h := newHouse(t)
	_, key := h.open("enterprise")
	for _, format := range []string{"pcm_s16le", "mp3", "webm"} {
		t.Run(format, func(t *testing.T) {
			varied := func(more string) string { return `"temperature":2,"format":"` + format + `"` + more }
			first := h.hearAll(t, key, varied(`,"seed":7`), 1)
			require.NotEmpty(t, first)
			require.True(t, bytes.Equal(first, h.hearAll(t, key, varied(`,"seed":"7"`), 15)), "in pieces")
			require.False(t, bytes.Equal(first, h.hearAll(t, key, varied(`,"seed":8`), 1)), "another seed")
			require.True(t, bytes.Equal(h.hearAll(t, key, varied(`,"seed":0`), 1), h.hearAll(t, key, varied(""), 1)),
				"0 when not given")
		})
	}
}

func TestWhatASessionCanVary(t *testing.T) {
	h := newHouse(t)
	_, key := h.open("enterprise")
	const format = `"format":"pcm_s16le","seed":7`
	plain := h.hearAll(t, key, format, 1)
	for _, setting := range []string{
		`"temperature":0.5`, `"top_p":0.9`, `"top_k":3`, `"quality":1`, `"solver":"rk4"`, `"conversational":true`,
		`"expressive":0.2`,
	} {
		require.False(t, bytes.Equal(plain, h.hearAll(t, key, format+","+setting, 1)), setting)
	}
	for _, setting := range []string{`"seed":8`, `"length":2`, `"temperature":null`} {
		require.True(t, bytes.Equal(plain, h.hearAll(t, key, format+","+setting, 1)), setting)
	}
}
