package speech

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"
)

// NothingToSay is the warning about a text without anything that the engine can speak.
const NothingToSay = "text: there is nothing in it that can be spoken"

// audition determines whether any of a text can be spoken, before the stream is read.
type audition struct {
	stream *Stream
	over   chan struct{} // closed when silent is set
	silent bool
}

// listen runs once. It ends with the first sound.
func (a *audition) listen() {
	defer close(a.over)
	for i := range a.stream.segments {
		audible, err := a.stream.sounds(a.stream.job(i, false))
		if errors.Is(err, ErrEngineFailed) {
			audible, err = a.stream.sounds(a.stream.job(i, true))
		}
		if audible || err != nil { // the stream returns the error
			return
		}
	}
	a.silent = true
}

// sounds reports whether a job has an audible sample. It stops reading at the first one.
func (st *Stream) sounds(job Job) (bool, error) {
	utterance, err := st.engine.Speak(st.ctx, job)
	if err != nil {
		return false, err
	}
	defer utterance.Close()
	for {
		pcm, err := utterance.Next(st.ctx)
		if isAudible(pcm) || err != nil {
			return isAudible(pcm), ignoreEOF(err)
		}
	}
}

// Warning waits until it is known whether the stream will be as requested. It returns the reasons why it will not, as a
// sentence for the client, or "".
func (st *Stream) Warning(ctx context.Context) (string, error) {
	var warnings []string
	if st.substitution != "" {
		warnings = append(warnings, st.substitution)
	}
	if st.audition != nil {
		if err := await(ctx, st.audition.over); err != nil {
			return "", err
		}
		if st.audition.silent {
			warnings = append(warnings, NothingToSay)
		}
	}
	if st.fit != nil {
		if err := await(ctx, st.fit.measured); err != nil {
			return "", err
		}
		if st.fit.err != nil {
			return "", st.fit.err
		}
		if st.fit.warning != "" {
			warnings = append(warnings, st.fit.warning)
		}
	}
	return strings.Join(warnings, "; "), nil
}

func await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isSurelySpoken reports whether a part of a text is spoken in every language. It may be false for a text without
// letters that is spoken, because only some languages read digits and symbols. The second engine knows only the letters
// of English.
func isSurelySpoken(text string, bySecond bool) bool {
	table := languages().scripts
	return strings.ContainsFunc(text, func(r rune) bool {
		if r <= unicode.MaxASCII || bySecond {
			return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		}
		return unicode.IsLetter(r) && !unicode.Is(unicode.Cherokee, r) &&
			slices.ContainsFunc(table, func(s scriptLanguage) bool { return unicode.Is(s.script, r) })
	})
}
