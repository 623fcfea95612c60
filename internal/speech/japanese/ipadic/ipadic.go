// Package ipadic analyses Japanese text with kagome and its dictionary IPADIC. The dictionary takes about 90 MB of
// memory, so only cmd/japanesereader imports this package.
package ipadic

import (
	"fmt"
	"strings"

	"github.com/ikawaha/kagome-dict/ipa"
	"github.com/ikawaha/kagome/v2/tokenizer"

	"github.com/recital-tts/recital/internal/speech/japanese"
)

// Analyser finds the morphemes of texts. It is safe for concurrent use.
type Analyser struct{ tokenizer *tokenizer.Tokenizer }

// Open loads the dictionary, which takes about half a second.
func Open() (*Analyser, error) {
	t, err := tokenizer.New(ipa.Dict(), tokenizer.OmitBosEos())
	if err != nil {
		return nil, fmt.Errorf("loading the dictionary of Japanese: %w", err)
	}
	return &Analyser{t}, nil
}

// Morphemes returns the morphemes of a text.
func (a *Analyser) Morphemes(text string) []japanese.Morpheme {
	tokens := a.tokenizer.Tokenize(text)
	morphemes := make([]japanese.Morpheme, 0, len(tokens))
	for i := range tokens {
		surface := tokens[i].Surface
		if surface == "分の" { // it is both a part of fractions (ブンノ) and minutes (フンノ)
			morphemes = append(morphemes, japanese.Morpheme{Surface: "分", Pronunciation: "フン", Class: japanese.Counter},
				japanese.Morpheme{Surface: "の", Pronunciation: "ノ"})
			continue
		}
		pronunciation, _ := tokens[i].Pronunciation()
		morphemes = append(morphemes, japanese.Morpheme{
			Surface: surface, Pronunciation: pronunciation, Class: classOf(surface, tokens[i].POS()),
		})
	}
	return morphemes
}

// classOf returns the class of a token by its part of speech, from the most general to the most special.
func classOf(surface string, pos []string) japanese.Class {
	switch all := strings.Join(pos, ","); {
	case strings.HasPrefix(all, "記号"):
		return japanese.Symbol
	case strings.HasPrefix(all, "接頭詞"), all == "名詞,数,*,*" && strings.ContainsAny(surface, "何数幾"):
		return japanese.Prefix
	case strings.HasPrefix(all, "名詞,数"):
		return japanese.Numeral
	case strings.HasPrefix(all, "名詞,接尾,助数詞"):
		return japanese.Counter
	case strings.HasPrefix(all, "名詞,接尾"):
		return japanese.Suffix
	case strings.HasPrefix(all, "動詞,自立"), strings.HasPrefix(all, "形容詞,自立"):
		return japanese.Inflected
	case strings.HasPrefix(all, "動詞"), strings.HasPrefix(all, "形容詞"), strings.HasPrefix(all, "助動詞"),
		strings.HasPrefix(all, "助詞,接続助詞"):
		return japanese.Ending
	}
	return japanese.Word
}
