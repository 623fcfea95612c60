package clips

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheClipsThatAnAccountOwns(t *testing.T) {
	s := newShelf(t)
	ids := []string{s.save("a1", "one"), s.save("a1", "two"), s.save("a1", "three")}
	s.save("a2", "of another")
	slices.Sort(ids)
	owned := Owned{Models: s.Projector}
	for after, want := range map[string][]string{"": ids, ids[0]: ids[1:], ids[1]: ids[2:], ids[2]: nil} {
		got, err := owned.After(t.Context(), "a1", after)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}
