package neural

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
)

// maxClauses is the maximum number of clauses in one request. It is also the maximum number of phrases in a job.
const maxClauses = 64

// transcriber runs a child process that transcribes text, and restarts it after a crash.
type transcriber struct {
	command workers.Command
	process *workers.Process // nil if it is not running
}

// transcribe fills in the words of clauses in the symbols of the voice. Words that are spelt by their script come from
// config, and espeak-ng pronounces the others.
func (t *transcriber) transcribe(job engineproto.Job, clauses []clause, config Config) error {
	text := []rune(job.Text)
	spelt := make([][]word, len(clauses))
	for i := range clauses {
		c := &clauses[i]
		c.language = cmp.Or(c.phrase.Language, job.Language)
		if len(soundsWithin(job.Sounds, clauses[i:i+1])) == 0 {
			spelt[i] = config.spellClause(c, text[c.start:c.start+c.runes])
		}
	}
	for at := 0; at < len(clauses); {
		n := unspelt(clauses[at:])
		if err := t.pronounce(job, text, clauses[at:at+n]); err != nil {
			return err
		}
		at += max(n, 1)
	}
	for i := range clauses {
		c := &clauses[i]
		for j, w := range c.words {
			c.words[j].spelling = config.respell(c.language, w.spelling)
		}
		c.words = append(c.words, spelt[i]...)
		slices.SortStableFunc(c.words, func(a, b word) int { return a.rune - b.rune })
	}
	return nil
}

// loanwords is the language of words that are not in the script of their clause.
const loanwords = "en-us"

// spellClause returns the words of a clause that are spelt by their script, and replaces them in text by spaces.
func (c Config) spellClause(of *clause, text []rune) (words []word) {
	if c.spell == nil {
		return nil
	}
	spelt, ok := c.spell(of.language, text)
	if !ok {
		return nil
	}
	for _, w := range spelt {
		words = append(words, word{rune: of.start + w.Start, spelling: w.Symbols})
		for i := range w.Runes {
			text[w.Start+i] = ' '
		}
	}
	of.language = loanwords
	of.spelt = !slices.ContainsFunc(text, func(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.S) })
	return words
}

// unspelt returns the number of leading clauses to pronounce in one request, or 0 if the first one is already spelt.
func unspelt(clauses []clause) int {
	n := slices.IndexFunc(clauses, func(c clause) bool { return c.spelt })
	if n < 0 {
		n = len(clauses)
	}
	return min(n, maxClauses)
}

// pronounce fills in espeak-ng's pronunciation of consecutive clauses of a text.
func (t *transcriber) pronounce(job engineproto.Job, text []rune, clauses []clause) error {
	if len(clauses) == 0 {
		return nil
	}
	first, last := clauses[0], clauses[len(clauses)-1]
	part := speech.Job{
		Text: string(text[first.start : last.start+last.runes]), Voice: speech.Voices()[0],
		Language: job.Language, Careful: job.Careful, Sounds: soundsWithin(job.Sounds, clauses),
		Speed: speech.MaxSpeed, // phonemes do not depend on it, and the discarded audio is shortest
	}
	for _, c := range clauses {
		phrase := speech.OwnPhrase(c.runes)
		phrase.Language = c.language
		part.Phrases = append(part.Phrases, phrase)
	}
	return t.askTwice(part, clauses)
}

// askTwice asks again, carefully, if the child process fails on a job. The model stays loaded.
func (t *transcriber) askTwice(job speech.Job, clauses []clause) error {
	err := t.ask(job, clauses)
	if err == nil || errors.Is(err, errRefused) {
		return err
	}
	t.stop()
	if job.Careful {
		return fmt.Errorf("%w: it cannot be transcribed", errRefused)
	}
	for i := range clauses {
		clauses[i].words = nil
	}
	job.Careful = true
	return t.askTwice(job, clauses)
}

func soundsWithin(sounds []speech.Sound, clauses []clause) (within []speech.Sound) {
	first, last := clauses[0], clauses[len(clauses)-1]
	for _, s := range sounds {
		if s.Start >= first.start && s.Start+s.Runes <= last.start+last.runes {
			within = append(within, speech.Sound{Start: s.Start - first.start, Runes: s.Runes})
		}
	}
	return within
}

// ask sends a job to the child process and reads the answer.
func (t *transcriber) ask(job speech.Job, clauses []clause) error {
	if err := t.start(); err != nil {
		return err
	}
	if err := t.process.In.WriteJSON(engineproto.KindJob, engineproto.NewJob(job)); err != nil {
		return fmt.Errorf("asking for phonemes: %w", err)
	}
	a := answer{clauses: clauses, first: clauses[0].start, at: -1}
	for {
		frame, err := t.process.Out.Read()
		if err != nil {
			return fmt.Errorf("asking for phonemes: %w", err)
		}
		done, err := a.take(frame)
		if done || err != nil {
			return err
		}
	}
}

func (t *transcriber) start() (err error) {
	if t.process != nil {
		return nil
	}
	if t.process, _, err = engineproto.Start(context.Background(), t.command); err != nil {
		return fmt.Errorf("starting a transcriber: %w", err)
	}
	return nil
}

func (t *transcriber) stop() {
	if t.process != nil {
		t.process.End()
		t.process = nil
	}
}

// answer collects the answer to a job.
type answer struct {
	clauses []clause
	first   int // code points before the transcribed text
	at      int // index of the clause that is being filled in
	ipa     []string
	starts  []int
}

func (a *answer) take(frame workers.Frame) (done bool, err error) {
	switch frame.Kind {
	case engineproto.KindClause:
		heard, err := engineproto.ParseClause(frame)
		if err != nil {
			return true, err
		}
		a.finish()
		for i, c := range a.clauses {
			if c.start == heard.Phrase+a.first {
				a.at = i
			}
		}
		a.ipa = strings.Fields(heard.IPA)
		return false, nil
	case engineproto.KindMarks:
		marks, err := engineproto.ParseMarks(frame)
		for _, m := range marks {
			if !m.Silence {
				a.starts = append(a.starts, m.Rune+a.first)
			}
		}
		return false, err
	case engineproto.KindRefused:
		return true, fmt.Errorf("%w: %s", errRefused, frame.Payload)
	case engineproto.KindEnd:
		a.finish()
		return true, nil
	}
	return false, nil
}

// errRefused means that the child process refused the text. The process keeps running.
var errRefused = errors.New("the text is refused")

// finish adds the words of a clause, with their starts. There are as many starts as words, except for rare words that
// espeak-ng splits into several parts.
func (a *answer) finish() {
	if a.at >= 0 {
		c := &a.clauses[a.at]
		for i, ipa := range a.ipa {
			start := c.start
			if n := len(a.starts); n > 0 {
				start = a.starts[i*n/len(a.ipa)]
			}
			c.words = append(c.words, word{rune: start, spelling: ipa})
		}
	}
	a.ipa, a.starts = nil, nil
}
