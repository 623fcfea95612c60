package speech

import (
	"fmt"
	"hash/crc32"
)

// repetition makes one utterance of a segment's, whose worker died, and of a second one by another worker: equal jobs
// give equal samples, so the second goes on where the first has stopped.
type repetition struct {
	returned int    // bytes of samples
	sum      uint32 // of them
	again    int    // bytes that the second utterance has yet to repeat
	sumAgain uint32 // of those that it has repeated
}

// begin expects the second utterance.
func (r *repetition) begin() { r.again, r.sumAgain = r.returned, 0 }

// pass returns what is new of an utterance's next samples. A second utterance that is another one, or ends before what
// is new, cannot go on: the error is ErrEngineFailed (wrapped).
func (r *repetition) pass(pcm []byte) (fresh []byte, err error) {
	n := min(r.again, len(pcm))
	r.again, r.sumAgain = r.again-n, crc32.Update(r.sumAgain, crc32.IEEETable, pcm[:n])
	if n > 0 && r.again == 0 && r.sumAgain != r.sum {
		return nil, errOtherwise()
	}
	fresh = pcm[n:]
	r.returned, r.sum = r.returned+len(fresh), crc32.Update(r.sum, crc32.IEEETable, fresh)
	return fresh, nil
}

// end is called at the end of an utterance.
func (r *repetition) end() error {
	if r.again > 0 {
		return errOtherwise()
	}
	return nil
}

func errOtherwise() error {
	return fmt.Errorf("%w: the segment came out otherwise when it was repeated", ErrEngineFailed)
}
