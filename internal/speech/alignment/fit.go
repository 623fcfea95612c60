package alignment

import (
	"fmt"
	"math/rand/v2"
)

// Fit describes how well a recording fits a text.
type Fit struct {
	// Likeness is the ratio of the mean distance along the path to the mean distance along the path to a shuffled
	// rendering, which has the same sounds: 1 is chance.
	Likeness float64
	Distance float64 // the mean distance along the path
	// Explained is the share of the recording's variance that a linear map of the rendering explains in parts that the
	// map was not fitted to (cross-validation). A voice and a microphone differ from the engine in much the same way
	// everywhere, if the sounds that are compared are the same.
	Explained    float64
	Speech, Text float64 // seconds of speech in the recording, and in the rendering
}

const (
	pieces = 5 // that a rendering is shuffled in
	orders = 5 // compared

	leastSpeech = 2.0 // seconds of speech below which chance explains everything
	explaining  = 0.6 // of the score by the explained share

	far   = 7.5  // the distance that few recordings have from their own text
	slope = 0.04 // of the score by distance
	most  = 0.02 // that the score is lowered by a short distance, because noise shortens all of them
)

// OtherTextError means that a recording does not sound like a text.
type OtherTextError struct{ Fit Fit }

// Error returns a message for clients.
func (e *OtherTextError) Error() string {
	return fmt.Sprintf("The recording is not of this text: %.1f s of speech were found in it, which sound hardly more "+
		"like the text (about %.1f s) than like its words in another order (%.2f)", e.Fit.Speech, e.Fit.Text, e.Fit.Likeness)
}

// Verify returns an *OtherTextError if the recording does not sound like the text.
func (f Fit) Verify() error {
	if speech := min(f.Speech, f.Text); speech < leastSpeech || f.score() < limit(speech) {
		return nil
	}
	return &OtherTextError{f}
}

// limit returns the score from which a recording with some seconds of speech is of another text. The more speech there
// is, the less the scores of own texts vary. docs/internals/speech.md has the recordings that it was set with.
func limit(speech float64) float64 {
	switch {
	case speech < 3:
		return 0.95
	case speech < 10:
		return 0.925
	}
	return 0.87
}

// score returns the likeness, changed by the distance, and lowered by the explained share.
func (f Fit) score() float64 {
	return f.Likeness + max(slope*(f.Distance-far), -most) - explaining*max(f.Explained, 0)
}

// fitOf compares two sounds, coarsely if they are long.
func fitOf(a, b features, found path) Fit {
	fit := Fit{Speech: a.spoken() * hop, Text: b.spoken() * hop, Explained: explained(a, b, found)}
	tries := orders
	if long := max(a.frames(), b.frames()); long > wholeFrames {
		group := min(1+long/wholeFrames, coarsening)
		a, b, tries = a.coarser(group), b.coarser(group), 1
		if found = *found.rough; group < coarsening {
			found = warp(a, b, nil)
		}
	}
	random := rand.New(rand.NewPCG(1, 1))
	chance := 0.0
	for range tries {
		other := b.shuffled(random)
		chance += warp(a, other, nil).distance(other) / float64(tries)
	}
	if fit.Distance = found.distance(b); chance > 0 {
		fit.Likeness = fit.Distance / chance
	}
	return fit
}

// shuffled returns the features with their pieces in random order.
func (f features) shuffled(random *rand.Rand) (other features) {
	other.contrast = f.contrast
	order := random.Perm(pieces)
	for _, k := range order {
		from, to := k*len(f.rows)/pieces, (k+1)*len(f.rows)/pieces
		other.rows = append(other.rows, f.rows[from:to]...)
		other.silent = append(other.silent, f.silent[from:to]...)
	}
	return other
}

// distance returns the mean distance along the path of the speech in b.
func (p path) distance(b features) float64 {
	sum, frames := 0.0, 0.0
	for j, cost := range p.cost {
		if !b.silent[j] {
			sum, frames = sum+cost, frames+1
		}
	}
	return sum / max(frames, 1)
}
