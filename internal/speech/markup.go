package speech

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/speech/ipa"
	"github.com/recital-tts/recital/internal/speech/mastering"
	"github.com/recital-tts/recital/internal/speech/ssml"
)

// maxReadings bounds the readings of a part of markup that is segmented as one text.
const maxReadings = 64

// Markup is a text that steers its speech.
type Markup = ssml.Document

// MarkupError describes a problem of markup, and its place.
type MarkupError = ssml.Error

// ParseMarkup parses a text that is a document of SSML; it returns nil for any other text. The language is an engine
// language, or AutoLanguage or "" to detect it from the text. Errors: *MarkupError, which is a domain.Invalid.
func ParseMarkup(text, language string) (*Markup, error) {
	if !ssml.Is(text) {
		return nil, nil
	}
	document, err := ssml.Parse(text, func(code string) (string, bool) {
		engine, known := LookupLanguage(code)
		return engine, known && engine != AutoLanguage
	})
	if err == nil {
		err = document.CheckPhonemes(settle(&document, language), ipa.Check)
	}
	if err != nil {
		return nil, wrongMarkup(err)
	}
	return &document, nil
}

// settle returns the language of a document. A detected language in Latin letters without a table of phonemes is
// doubtful in a document with phonemes, which is then English.
func settle(document *Markup, language string) string {
	isTold := language != "" && language != AutoLanguage
	language = languageOf(document.Text, language)
	if isTold || ipa.Knows(language) || !isWrittenInLatin(language) || !document.HasPhonemes() {
		return language
	}
	for i := range document.Runs {
		style := &document.Runs[i].Style
		style.Language = cmp.Or(style.Language, latin)
	}
	return latin
}

func wrongMarkup(err error) error {
	return fmt.Errorf("%w: %w", domain.Refuse(domain.Invalid, "The markup is wrong: "+err.Error()), err)
}

// Cast returns the voices that markup names. A system voice may be named by its name in place of its id. speaking
// returns a voice by its id. Errors: *MarkupError for a refused voice, and any other error of speaking.
func Cast(m *Markup, speaking func(id string) (Voice, error)) (map[string]Voice, error) {
	if m == nil || len(m.Voices) == 0 {
		return nil, nil
	}
	cast := make(map[string]Voice, len(m.Voices))
	for _, use := range m.Voices {
		id := use.Name
		if system, found := LookupVoice(strings.ToLower(id)); found {
			id = system.ID
		}
		voice, err := speaking(id)
		switch domain.CodeOf(err) {
		case domain.NotFound, domain.Conflict, domain.Rejected:
			return nil, wrongMarkup(use.Error(whyNot(err)))
		}
		if err != nil {
			return nil, err
		}
		cast[use.Name] = voice
	}
	return cast, nil
}

// whyNot returns the reason for which a voice does not speak, within a sentence.
func whyNot(err error) string {
	var refusal *domain.Error
	if !errors.As(err, &refusal) || refusal.Message == "" {
		return "it does not speak"
	}
	return strings.ToLower(refusal.Message[:1]) + refusal.Message[1:]
}

// markup holds the instructions of a document for a segment.
type markup struct {
	text     string // for the engine: the segment's text, with spaces for the ends of lines
	readings []Reading
	style    ssml.Style
	hasPause bool
	pause    float64 // seconds after it, in place of the engine's own
}

// voice returns the voice that speaks the segment of a request.
func (m *markup) voice(r Request) Voice {
	if voice, named := r.Cast[m.style.Voice]; named {
		return voice
	}
	return r.Voice
}

// steer applies the markup to a job of a request.
func (m *markup) steer(job *Job, r Request) {
	job.Readings = m.readings
	job.Voice = m.voice(r)
	if m.style.Language != "" {
		job.Language = m.style.Language
	}
	job.Speed = clamp(job.Speed*m.style.Rate, MinSpeed, MaxSpeed)
	job.NoPause = job.NoPause || m.hasPause
	job.Continues = job.Continues && !m.hasPause
	if m.style.Pitch == 0 && m.style.Range == 1 || m.text == "" {
		return
	}
	if len(job.Phrases) == 0 {
		job.Phrases = []Phrase{OwnPhrase(utf8.RuneCountInString(m.text))}
	}
	job.Raised = m.style.Pitch
	for i := range job.Phrases {
		p := &job.Phrases[i]
		p.Pitch = round(clamp(p.Pitch+m.style.Pitch, -MaxPitch, MaxPitch))
		p.Range = round(clamp(p.Range*m.style.Range*math.Exp2(m.style.Pitch/12), 0, MaxRange)) // in Hz
	}
}

// rateOf returns the factor of markup on the pace of a segment.
func (st *Stream) rateOf(index int) float64 {
	if m := st.segments[index].markup; m != nil {
		return m.style.Rate
	}
	return 1
}

// pauses returns the sum of the pauses of markup in seconds.
func (st *Stream) pauses() (sum float64) {
	for _, s := range st.segments {
		if s.markup != nil {
			sum += s.markup.pause
		}
	}
	return sum
}

// pause returns the next samples of the pause after the segment, with the rest of the segment before them; none if
// there is no pause or it is over.
func (st *Stream) pause() []byte {
	m := st.segments[st.index].markup
	if m == nil {
		return nil
	}
	left := int(m.pause*float64(st.SampleRate())+0.5) - st.quiet
	if left <= 0 {
		return nil
	}
	pcm := st.chain.Flush()
	st.samples += len(pcm) / 2
	n := min(left, st.SampleRate()) // a second at a time
	st.quiet += n
	return append(pcm, make([]byte, 2*n)...)
}

// newChain returns the chain of the segment that is read.
func (st *Stream) newChain() *mastering.Chain {
	r := st.request
	volume := 0.0
	if m := st.segments[st.index].markup; m != nil {
		r.Voice = m.voice(r)
		if volume = m.style.Volume; m.style.Language != "" {
			r.Language = m.style.Language
		}
	}
	settings := st.masteringOf(r)
	settings.Gain = clamp(settings.Gain+volume, -mastering.MaxGain, mastering.MaxGain)
	return mastering.New(st.SampleRate(), settings)
}

// steered is the engine for a text with markup, which may have segments in several languages.
type steered struct {
	speaker *Speaker
	request Request
}

// SampleRate implements Engine.
func (s steered) SampleRate() int { return s.speaker.SampleRate() }

// Speak implements Engine.
func (s steered) Speak(ctx context.Context, job Job) (Utterance, error) {
	if job.Text == "" {
		return &recorded{}, nil
	}
	r := s.request
	r.Language, r.Voice = job.Language, job.Voice
	engine := s.speaker.engineFor(r)
	if _, found := s.speaker.installedEngine(r); found { // which does not know the pitch of phrases
		engine = moving{engine, Moved{Pitch: math.Exp2(job.Raised / 12), Pace: 1}}
	}
	return engine.Speak(ctx, job)
}

// passageOfMarkup are runs in one style without a pause between them, which are segmented as one text.
type passageOfMarkup struct {
	runs     []ssml.Run
	style    ssml.Style
	hasPause bool
	pause    float64 // asked for
	ends     ssml.Boundary
}

// splitMarkup splits the text of a document into segments of one style each. The pauses of sentences and paragraphs
// depend on the speed.
func splitMarkup(document ssml.Document, speed float64) []Segment {
	var segments []Segment
	start := 0
	for _, p := range passagesOf(document.Runs) {
		segments = append(segments, p.segments(start, start == 0)...)
		last := segments[len(segments)-1]
		last.markup.hasPause, last.markup.pause = p.pauseAfter(speed)
		start = last.Start + len(last.Text)
	}
	return segments
}

func (p passageOfMarkup) pauseAfter(speed float64) (has bool, seconds float64) {
	switch {
	case p.hasPause:
		return true, p.pause
	case p.ends == ssml.ParagraphEnd:
		return true, paragraphPause / speed
	case p.ends == ssml.SentenceEnd:
		return true, sentencePause / speed
	}
	return false, 0
}

// passagesOf groups runs. A run that cannot be spoken joins the passage before it, or else the next one.
func passagesOf(runs []ssml.Run) []passageOfMarkup {
	lead := passageOfMarkup{style: ssml.Style{Rate: 1, Range: 1}}
	first := slices.IndexFunc(runs, isSaid)
	if first < 0 {
		first = len(runs)
	}
	for _, run := range runs[:first] {
		lead.add(run)
	}
	if first == len(runs) {
		return []passageOfMarkup{lead}
	}
	var passages []passageOfMarkup
	if lead.pause > 0 {
		passages = append(passages, passageOfMarkup{style: lead.style, hasPause: true, pause: lead.pause})
	}
	for _, run := range runs[first:] {
		n := len(passages)
		if n == 0 || len(passages[n-1].runs) == 0 || isSaid(run) && !passages[n-1].takes(run) {
			passages = append(passages, passageOfMarkup{runs: lead.runs, style: run.Style})
			lead.runs = nil
		}
		passages[len(passages)-1].add(run)
	}
	return passages
}

func isSaid(r ssml.Run) bool { return isSpeakable(r.Text) || isSpeakable(r.Alias) || r.IPA != "" }

// takes reports whether a run goes on with the passage.
func (p passageOfMarkup) takes(r ssml.Run) bool {
	return r.Style == p.style && !p.hasPause && p.ends == ssml.NoBoundary && len(p.runs) < maxReadings
}

func (p *passageOfMarkup) add(r ssml.Run) {
	p.runs = append(p.runs, r)
	p.hasPause = p.hasPause || r.HasPause
	p.pause += r.Pause.Seconds()
	p.ends = max(p.ends, r.Ends)
}

// segments splits the passage, which begins at a byte offset in the text. The cuts depend on the spoken form, because
// an alias may be longer than its text. A run with an alias or a class is not cut.
func (p passageOfMarkup) segments(start int, first bool) []Segment {
	var written, said strings.Builder
	for _, r := range p.runs {
		written.WriteString(r.Text)
		said.WriteString(saidOf(r))
	}
	cuts, readings := p.cut(split(said.String(), first))
	out := cutAt(written.String(), cuts)
	if len(out) == 0 {
		out = []Segment{{}}
	}
	for i := range out {
		s := &out[i]
		s.markup = &markup{text: oneLine(s.Text), style: p.style}
		for len(readings) > 0 && readings[0].End <= s.Start+len(s.Text) {
			readings[0].Start, readings[0].End = readings[0].Start-s.Start, readings[0].End-s.Start
			s.Characters += readings[0].more(s.Text)
			s.markup.readings, readings = append(s.markup.readings, readings[0]), readings[1:]
		}
		s.Start += start
	}
	return out
}

// more returns the number of characters to bill in addition to the original of the reading in a text.
func (r Reading) more(text string) int {
	return ssml.Run{Text: text[r.Start:r.End], Alias: r.Alias, IPA: r.IPA}.Characters() -
		utf8.RuneCountInString(text[r.Start:r.End])
}

// cut returns the ends of segments in the written text for segments of the spoken form, and the readings.
func (p passageOfMarkup) cut(segments []Segment) (ends []int, readings []Reading) {
	written, said := 0, 0 // bytes before the run
	for _, r := range p.runs {
		whole := r.Alias != "" || r.Class != "" || r.IPA != ""
		next := said + len(saidOf(r))
		for len(segments) > 0 && segments[0].Start+len(segments[0].Text) <= next {
			end := written + segments[0].Start + len(segments[0].Text) - said
			if whole {
				end = written + len(r.Text)
			}
			ends, segments = append(ends, end), segments[1:]
		}
		if whole {
			readings = append(readings, Reading{
				Start: written, End: written + len(r.Text), Alias: r.Alias, IPA: r.IPA, Class: r.Class, Format: r.Format,
			})
		}
		written, said = written+len(r.Text), next
	}
	return slices.Compact(ends), readings
}

func saidOf(r ssml.Run) string { return cmp.Or(r.Alias, r.IPA, oneLine(r.Text)) }

// oneLine replaces the ends of lines by spaces, because the elements p and s divide the text of markup.
func oneLine(text string) string { return strings.ReplaceAll(text, "\n", " ") }
