package speech

import (
	"context"
	"slices"

	"github.com/recital-tts/recital/internal/speech/frontend"
	"github.com/recital-tts/recital/internal/speech/japanese"
)

// kana is the engine language of Japanese. In it, the engine reads kana, and spells other letters by their names.
const kana = "ja"

// JapaneseReader determines the reading of Japanese. It is safe for concurrent use.
type JapaneseReader interface {
	// Read returns the readings of a text, which is at most as long as a segment. Their originals, concatenated, are the
	// text.
	Read(ctx context.Context, text string) ([]japanese.Reading, error)
}

// inKana spells plain spans of Japanese in kana, a span for each word. Text that the reader fails on is left as it is
// written. The reader counts and logs such failures.
func (s spoken) inKana(ctx context.Context, spans []frontend.Span) []frontend.Span {
	if s.japanese == nil || !slices.ContainsFunc(spans, isToBeRead) {
		return spans
	}
	out := make([]frontend.Span, 0, 2*len(spans))
	for _, span := range spans {
		if !isToBeRead(span) {
			out = append(out, span)
			continue
		}
		readings, err := s.japanese.Read(ctx, span.Original)
		if err != nil {
			out = append(out, span)
			continue
		}
		for _, r := range readings {
			out = append(out, spanOf(r))
		}
	}
	return out
}

func isToBeRead(s frontend.Span) bool {
	return s.Kind == frontend.Plain && s.Language == kana && isSpeakable(s.Original)
}

func spanOf(r japanese.Reading) frontend.Span {
	s := frontend.Span{Original: r.Original, Spoken: r.Spoken, Kind: frontend.Word, Language: kana}
	if r.Spoken == r.Original {
		s.Kind = frontend.Plain
	}
	return s
}
