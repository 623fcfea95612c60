package reporttest

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/acoustics/acousticstest"
	"github.com/recital-tts/recital/internal/speech/alignment"
	"github.com/recital-tts/recital/internal/speech/alignment/rendered"
)

// The limits of the letters of used prompts, and the short pause between several in a row.
const (
	leastLetters, mostLetters = 30, 140
	promptsInARow             = 4
	rows                      = 25
	between                   = 150 * time.Millisecond
	promptRate                = 16000 // Hz
)

// prompt is an utterance of a person.
type prompt struct {
	text    string
	words   int
	samples []int16 // from the first sound to the last
}

// joinedPrompts returns rows of prompts, with the known start of the first word and end of the last word of each.
func joinedPrompts(ctx context.Context, engine speech.Engine, root string) (all []recording, err error) {
	prompts, err := readPrompts(ctx, engine, root)
	if err != nil {
		return nil, err
	}
	for ; len(prompts) >= promptsInARow && len(all) < rows; prompts = prompts[promptsInARow:] {
		all = append(all, join(prompts[:promptsInARow]))
	}
	return all, nil
}

func join(prompts []prompt) (r recording) {
	pause := make([]int16, int(between.Seconds()*promptRate))
	r.truth.Sound = alignment.Sound{Rate: promptRate, Samples: pause}
	var texts []string
	for _, p := range prompts {
		words := make([]alignment.Word, p.words)
		for i := range words {
			words[i].Start, words[i].End = unknown, unknown
		}
		words[0].Start = r.truth.Sound.Seconds()
		r.truth.Sound.Samples = append(r.truth.Sound.Samples, p.samples...)
		words[p.words-1].End = r.truth.Sound.Seconds()
		r.truth.Sound.Samples = append(r.truth.Sound.Samples, pause...)
		r.truth.Words = append(r.truth.Words, words...)
		texts = append(texts, p.text)
	}
	r.text = strings.Join(texts, " ")
	return r
}

func readPrompts(ctx context.Context, engine speech.Engine, root string) (all []prompt, err error) {
	texts, err := readTexts(root, "en")
	if err != nil {
		return nil, errors.New("the packages asterisk-core-sounds-en and asterisk-core-sounds-en-g722 are missing")
	}
	folder, err := promptFolder(root, "en", wideband)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		text := texts[name]
		if len(all) == rows*promptsInARow {
			break
		}
		if len(text) < leastLetters || len(text) > mostLetters || strings.ContainsAny(text, "[(<*#;0123456789") ||
			!strings.HasSuffix(text, ".") {
			continue
		}
		samples, err := convert(ctx, promptRate, "-i", filepath.Join(folder, name+wideband))
		if err != nil {
			continue // a text without a recording
		}
		spoken, err := rendered.Render(ctx, engine, text, speech.AutoLanguage, 1)
		if err != nil {
			return nil, err
		}
		from, to := acousticstest.Bounds(samples)
		all = append(all, prompt{text, len(spoken.Words), samples[from:to]})
	}
	return all, nil
}
