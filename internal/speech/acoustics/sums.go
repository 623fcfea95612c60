package acoustics

// sums are the sums over the blocks so far.
type sums struct {
	spectra    *spectrograph
	statistics Statistics
	start, end float64
	speech     float64 // seconds
	samples    float64
	clipped    float64
	spoken     []float64 // power of the speech by bin, times seconds
	background []float64 // the same of the noise
	raw        float64   // power of the noise as recorded, times seconds
	weight     float64   // seconds that the noise counts
	dropped    float64
}

func newSums(s *spectrograph) sums {
	return sums{spectra: s, spoken: make([]float64, s.bins), background: make([]float64, s.bins)}
}

// heard adds the measurements before any enhancement or omission.
func (s *sums) heard(b *block, noise []float64) {
	s.raw += weightOf(b) * total(noise)
	for i := range b.frames {
		f := &b.frames[i]
		s.samples += float64(f.length)
		s.clipped += float64(f.clipped)
		if !f.speech {
			continue
		}
		if s.speech == 0 {
			s.start = float64(b.first+i) * hop
		}
		s.end = float64(b.first+i+1) * hop
		s.speech += hop
	}
}

// weightOf returns the weight of a block's noise.
func weightOf(b *block) float64 {
	weight := 0.1 * hop
	for i := range b.frames {
		if b.frames[i].quiet {
			weight += hop
		}
	}
	return weight
}

func total(power []float64) (sum float64) {
	for _, p := range power {
		sum += p
	}
	return sum
}

// add adds the statistics of the used part of a block.
func (s *sums) add(b *block, noise []float64, vowels *resonator) {
	weight := weightOf(b)
	s.weight += weight
	for bin, p := range noise {
		s.background[bin] += weight * p
	}
	own := make([]float64, len(noise))
	st := &s.statistics
	speech := 0.0
	for i := range b.frames {
		f := &b.frames[i]
		switch {
		case !f.speech:
			continue
		case f.useless:
			s.dropped += hop
			continue
		}
		speech += hop
		for bin, p := range f.power {
			own[bin] += hop * float64(p)
		}
		for band, level := range f.bands {
			st.Levels[band] += hop * level
		}
		if f.pitch > 0 {
			st.Voiced += hop
			st.Harmonics += hop * harmonicity(f.harmonic)
			pitchScale.count(&st.Pitch, f.pitch, hop)
			vowels.count(f, &st.Formants)
		}
	}
	colour, levels := b.moves(s.spectra.bands)
	st.Colour += speech * colour
	st.Range += speech * levels
	st.Speech += speech
	st.Syllables += float64(b.syllables(s.spectra))
	for band, filter := range s.spectra.filters {
		all, noisy := 0.0, 0.0
		for _, w := range filter {
			all += w.Share * own[w.Bin]
			noisy += w.Share * noise[w.Bin] * speech
		}
		st.Spectrum[band] += max(all-noisy, 0.03*all)
	}
	for bin, p := range own {
		s.spoken[bin] += p
	}
}

func (s *sums) report(seconds float64) Report {
	r := Report{
		Seconds: seconds, Speech: s.speech, Start: s.start, End: min(s.end, seconds), Dropped: s.dropped,
		Clipped: ratio(s.clipped, s.samples), Noise: decibels(ratio(s.raw, s.weight)), Level: decibels(0),
	}
	noise := ratio(total(s.background), s.weight)
	r.NoiseAfter = decibels(noise)
	if used := s.statistics.Speech; used > 0 {
		speech := max(total(s.spoken)/used-noise, 0)
		r.Level = decibels(speech)
		r.SNR = min(max(decibels(speech)-decibels(noise), -10), 60)
		r.Bandwidth = s.bandwidth(used)
		r.Music = s.statistics.Music()
		r.End = min(s.end+hidden(r.SNR), seconds)
	}
	return r
}

// hidden returns the usual length in seconds of the end of speech that noise hides at a ratio in dB, halved. The end of
// speech fades more often than its start.
func hidden(ratio float64) float64 { return 0.03 * min(max((35-ratio)/15, 0), 2) }

const (
	breadth   = 250  // Hz over which spectra are smoothed
	faintest  = 1e-7 // of the strongest frequency
	standsOut = 2    // times the noise
)

// bandwidth returns the highest frequency in Hz at which speech stands out of the noise.
func (s *sums) bandwidth(used float64) float64 {
	each := s.spectra.each()
	group := max(int(breadth/each), 1)
	strongest, highest := 0.0, 0.0
	for _, seek := range []bool{false, true} {
		for from := 0; from+group <= len(s.spoken); from++ {
			speech := total(s.spoken[from:from+group]) / used
			noise := total(s.background[from:from+group]) / s.weight
			switch {
			case !seek:
				strongest = max(strongest, speech)
			case speech > standsOut*noise && speech > faintest*strongest:
				highest = float64(from+group) * each
			}
		}
	}
	return min(highest, highestHertz)
}
