package speech

// Passage is a piece of speech with the times of its words. They are relative to its start and have no gaps.
type Passage struct {
	PCM     []byte
	Timings []Timing
	Length  int64 // milliseconds
}

// Extend appends the timings of the next passage.
func (p *Passage) Extend(next Passage) {
	for _, t := range next.Timings {
		t.Start = toSeconds(p.Length + toMilliseconds(t.Start))
		p.Timings = append(p.Timings, t)
	}
	p.Length += next.Length
}

// Lengthen adds milliseconds of silence to the last timing.
func (p *Passage) Lengthen(by int64) {
	p.Length += by
	if n := len(p.Timings); n > 0 {
		last := &p.Timings[n-1]
		last.Duration = toSeconds(toMilliseconds(last.Duration) + by)
	}
}

// CutPassages cuts the audio of a segment at boundaries of its timings, into passages of at most most milliseconds. A
// longer element continues in the next passage with an empty text. The timings are those of a stream with one
// segment: they begin at 0 and have no gaps.
func CutPassages(pcm []byte, timings []Timing, rate int, most int64) []Passage {
	c := passageCut{pcm: pcm, rate: int64(rate)}
	for _, t := range timings {
		from, to := toMilliseconds(t.Start), toMilliseconds(t.Start)+toMilliseconds(t.Duration)
		if to-c.begin > most && from > c.begin {
			c.close(from)
		}
		for to-c.begin > most {
			c.add(t.Text, from, c.begin+most)
			from = c.begin + most
			t.Text = ""
			c.close(from)
		}
		c.add(t.Text, from, to)
	}
	return c.finish()
}

// passageCut is the state of CutPassages.
type passageCut struct {
	pcm    []byte
	rate   int64
	begin  int64 // of the current piece, in milliseconds
	open   []Timing
	pieces []Passage
}

func (c *passageCut) add(text string, from, to int64) {
	c.open = append(c.open, Timing{Text: text, Start: toSeconds(from - c.begin), Duration: toSeconds(to - from)})
}

func (c *passageCut) close(at int64) {
	cut := min(2*(at*c.rate/1000-c.begin*c.rate/1000), int64(len(c.pcm)))
	c.pieces = append(c.pieces, Passage{PCM: c.pcm[:cut:cut], Timings: c.open, Length: at - c.begin})
	c.pcm, c.begin, c.open = c.pcm[cut:], at, nil
}

// finish ends the last piece with all remaining samples.
func (c *passageCut) finish() []Passage {
	if len(c.open) == 0 && len(c.pcm) == 0 {
		return c.pieces
	}
	length := int64(0)
	for _, t := range c.open {
		length += toMilliseconds(t.Duration)
	}
	return append(c.pieces, Passage{PCM: c.pcm, Timings: c.open, Length: length})
}

func toMilliseconds(seconds float64) int64 { return int64(seconds*1000 + 0.5) }

func toSeconds(milliseconds int64) float64 { return float64(milliseconds) / 1000 }
