package generations_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/generations"
)

func TestAnIDIsOneAccounts(t *testing.T) {
	ids := generations.New([]byte("key"))
	drawn, other := ids.Draw("a1"), ids.Draw("a1")
	require.NotEqual(t, drawn, other)
	require.EqualValues(t, 4, drawn.Version(), "clients know UUIDs of this version")
	require.Equal(t, uuid.RFC4122, drawn.Variant())

	for _, written := range []string{drawn.String(), strings.ToUpper(drawn.String())} {
		read, made := ids.Read("a1", written)
		require.True(t, made)
		require.Equal(t, drawn, read)
	}
	for name, c := range map[string]struct {
		ids           generations.IDs
		account, text string
	}{
		"another account's": {ids, "a2", drawn.String()},
		"of another key":    {generations.New([]byte("other")), "a1", drawn.String()},
		"invented":          {ids, "a1", uuid.NewString()}, "no id": {ids, "a1", "g-1"}, "nothing": {ids, "a1", ""},
	} {
		_, made := c.ids.Read(c.account, c.text)
		require.False(t, made, name)
	}
	for i := range drawn {
		changed := drawn
		changed[i] ^= 1
		_, made := ids.Read("a1", changed.String())
		require.False(t, made, "byte %d", i)
	}
}
