package speech

import (
	"fmt"
	"hash/crc32"
)

// repetition joins the utterance of a segment after its worker died with a second one by another worker. Equal jobs
// give equal samples, so the second continues where the first stopped.
type repetition struct {
	returned int    // bytes of samples
	sum      uint32 // checksum of these
	again    int    // bytes left to repeat by the second utterance
	sumAgain uint32 // checksum of the repeated bytes
}

// begin prepares for the second utterance.
func (r *repetition) begin() { r.again, r.sumAgain = r.returned, 0 }

// pass returns the part of an utterance's next samples that is new. If the second utterance differs from the first, the
// error is ErrEngineFailed (wrapped).
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

// end returns ErrEngineFailed (wrapped) if the second utterance ended before the first one did.
func (r *repetition) end() error {
	if r.again > 0 {
		return errOtherwise()
	}
	return nil
}

func errOtherwise() error {
	return fmt.Errorf("%w: the segment came out otherwise when it was repeated", ErrEngineFailed)
}
