package panics_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/panics"
)

func TestAPanicBecomesAnErrorWithoutItsText(t *testing.T) {
	for name, c := range map[string]struct {
		do   func()
		want string
	}{
		"of the runtime": {func() { t.Log([]int{}[len(t.Name())]) }, "reading panicked: runtime error: index"},
		"of others":      {func() { panic("Ada Lovelace") }, "reading panicked"},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			func() {
				defer func() { err = panics.Error("reading", recover()) }()
				c.do()
			}()
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "Ada")
		})
	}
}
