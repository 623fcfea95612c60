package speech_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
)

// hush returns the warning about a text, and checks that each segment of the stream reports whether it was silent.
func hush(t *testing.T, speaker *speech.Speaker, r speech.Request) (warning string, silent, segments int) {
	t.Helper()
	st := speaker.Speak(t.Context(), r)
	defer st.Close()
	warning, err := st.Warning(t.Context())
	require.NoError(t, err)
	var segment []byte
	for range speech.Split(r.Text) {
		for {
			piece, err := st.Next(t.Context())
			require.NoError(t, err)
			segment = append(segment, piece.PCM...)
			if !piece.SegmentEnd {
				continue
			}
			require.Equal(t, bytes.Equal(segment, make([]byte, len(segment))), piece.Silent, "%q", r.Text)
			segments, segment = segments+1, nil
			if piece.Silent {
				silent++
			}
			break
		}
	}
	return warning, silent, segments
}

func TestATextThatCannotBeSpoken(t *testing.T) {
	speaker := speech.NewSpeaker(openPool(t, 2)).WithSecondEngine(openFlite(t, 1))
	for _, text := range []string{
		" ", "\n\n", "\u200b\u200d", "\u202e\ufeff", "…", "?", "— • ♪", "\ufffd", "\ue000", "\x01",
		strings.Repeat("… ", 1000), "①", "\u0663",
	} {
		for _, language := range []string{"auto", "en-us", "de", "cmn"} {
			for _, model := range []string{speech.ModelAurora, speech.ModelBlizzard} {
				r := speech.Request{Text: text, Language: language, Voice: speech.Voices()[3], Model: model}
				warning, silent, segments := hush(t, speaker, r)
				require.Equal(t, silent == segments, warning == "text: there is nothing in it that can be spoken", "%q in %s, %s",
					text, language, model)
				require.Equal(t, silent < segments, warning == "", "%q in %s, %s", text, language, model)
			}
		}
	}
	warning, _, _ := hush(t, speaker, speech.Request{Text: "… …", Language: "en-us", Voice: speech.Voices()[0]})
	require.Equal(t, speech.NothingToSay, warning)
	warning, _, _ = hush(t, speaker, speech.Request{
		Text: "… …", Language: "en-us", Voice: speech.Voices()[0], Length: 100,
	})
	require.Regexp(t, "^"+speech.NothingToSay+"; length: the text takes ", warning)
	warning, _, _ = hush(t, speaker, speech.Request{
		Text: "Привет", Language: "en-us", Voice: speech.Voices()[0], Model: speech.ModelBlizzard,
	})
	require.Equal(t, speech.NothingToSay, warning, "the second engine knows no letters but those of English")
}

func TestATextThatIsSpoken(t *testing.T) {
	speaker := speech.NewSpeaker(openPool(t, 2)).WithSecondEngine(openFlite(t, 1))
	for _, text := range []string{
		"Hello", "7", "%", "😀", "…a…", "♥", "Привет", "今天", "こんにちは", strings.Repeat("… ", 600) + "Hello.",
	} {
		for _, model := range []string{speech.ModelAurora, speech.ModelBlizzard} {
			warning, silent, segments := hush(t, speaker, speech.Request{Text: text, Voice: speech.Voices()[0], Model: model})
			require.Equal(t, silent == segments, warning != "", "%q, %s", text, model)
			if model == speech.ModelAurora {
				require.Empty(t, warning, "%q", text)
			}
		}
	}
}

// A text that is surely spoken is not synthesised in advance, which would cost time.
func TestWordsAreSynthesisedOnce(t *testing.T) {
	g := &gate{Engine: openPool(t, 1)}
	for _, text := range []string{"Hello", "Привет", "今天", "über"} {
		before := g.asked.Load()
		speak(t, g, request(text))
		require.EqualValues(t, 1, g.asked.Load()-before, text)
	}
}
