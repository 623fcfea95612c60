package formant_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/cloning"
	"github.com/recital-tts/recital/internal/speech/cloning/likenesstest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// No voice is nearer to a system voice than itself. Its clone has its pitch and its colour, and no equaliser, which
// would only add errors of the measurement.
func TestACloneOfASystemVoiceSoundsLikeIt(t *testing.T) {
	longtest.Only(t)
	cloner, engine := newCloner(t)
	lily, _ := speech.LookupVoice("lily")
	analyses := analyse(t, cloner, rested(say(t, engine, lily, given()...))...)
	model, err := cloner.Fit(t.Context(), analyses, cloning.Profile{Accent: "en-US"}, nil)
	require.NoError(t, err)
	clone, err := cloner.Open(model)
	require.NoError(t, err)
	d := likenesstest.Between(measure(say(t, engine, lily, heldOut()...)), measure(say(t, engine, clone, heldOut()...)))
	require.Equal(t, lily.Variant, clone.Variant)
	require.Less(t, d.Pitch, 0.3)
	require.Less(t, d.Spectrum, 0.5)
}
