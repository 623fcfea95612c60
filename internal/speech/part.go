package speech

import "context"

// Part is one segment of a text that is spoken segment by segment because it is not complete yet.
type Part struct {
	Segment Segment
	First   bool // it overtakes later segments of others
	Last    bool // nothing follows, so that no pause is added
}

// SpeakPart starts the speech of a part. The text of r is ignored, and its language must be an engine language. Times
// are relative to the start of the part; the stream has one segment. Length does not apply. The caller must close it.
func (s *Speaker) SpeakPart(ctx context.Context, r Request, part Part) *Stream {
	if r.Speed == 0 {
		r.Speed = 1
	}
	st := s.newStream(ctx, placed{s.engineFor(r), part}, r, []Segment{part.Segment})
	st.ahead = st.start(0)
	return st
}

// SampleRate returns the rate of the samples in Hz.
func (s *Speaker) SampleRate() int { return s.engine.SampleRate() }

// placed is the engine for a part: its stream treats the part as a whole text.
type placed struct {
	Engine
	part Part
}

func (p placed) Speak(ctx context.Context, job Job) (Utterance, error) {
	job.First = p.part.First
	job.NoPause = p.part.Last || !endsWithBreak(p.part.Segment.Text)
	return p.Engine.Speak(ctx, job)
}
