package formant_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/cloning"
	"github.com/recital-tts/recital/internal/speech/cloning/likenesstest"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// Recordings that end with their last word, without a pause before it, have no measurable noise.
func TestACloneOfSpeechWithoutRestsIsNearer(t *testing.T) {
	longtest.Only(t)
	cloner, engine := newCloner(t)
	flite := open(t, workertest.Flite(workerBinary))
	for _, id := range []string{"zeke", "ansel", "leah"} {
		original, _ := speech.LookupVoice(id)
		analyses := analyse(t, cloner, say(t, flite, original, given()...)...)
		for _, a := range analyses {
			require.Greater(t, a.Report.SNR, 30.0, id)
			require.Greater(t, a.Report.Bandwidth, 7000.0, id)
		}
		model, err := cloner.Fit(t.Context(), analyses, cloning.Profile{}, nil)
		require.NoError(t, err)
		clone, err := cloner.Open(model)
		require.NoError(t, err)
		want := measure(say(t, flite, original, heldOut()...))
		base := speech.Voice{ID: idOf(clone.Variant), Variant: clone.Variant}
		near := likenesstest.Between(want, measure(say(t, engine, clone, heldOut()...)))
		far := likenesstest.Between(want, measure(say(t, engine, base, heldOut()...)))
		require.True(t, near.Nearer(far), "%s: the clone is at %+v, what it is made of at %+v", id, near, far)
	}
}
