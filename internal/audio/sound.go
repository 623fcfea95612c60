package audio

import "io"

// blockSize is a compromise between the waste of the last block and the number of blocks, in bytes.
const blockSize = 256 << 10

// Sound is audio in memory. It grows by blocks: half an hour of it is never copied to a larger buffer, which would
// cost several times its size.
type Sound struct {
	blocks [][]byte
	size   int64
}

// Write appends a copy of p.
func (s *Sound) Write(p []byte) (int, error) {
	written := len(p)
	for len(p) > 0 {
		last := len(s.blocks) - 1
		if last < 0 || len(s.blocks[last]) == blockSize {
			s.blocks = append(s.blocks, make([]byte, 0, blockSize))
			last++
		}
		n := min(len(p), blockSize-len(s.blocks[last]))
		s.blocks[last] = append(s.blocks[last], p[:n]...)
		p = p[n:]
	}
	s.size += int64(written)
	return written, nil
}

// Finish turns an encoder's complete output into a file, as Whole does.
func (s *Sound) Finish(spec Spec) {
	if s.size == 0 {
		return
	}
	_, _ = s.Write(FinishHeader(spec, s.blocks[0], s.size)) // writing to memory never fails
}

// Size returns the number of bytes.
func (s *Sound) Size() int64 { return s.size }

// WriteTo implements io.WriterTo. It may be called again.
func (s *Sound) WriteTo(w io.Writer) (written int64, err error) {
	for _, block := range s.blocks {
		n, err := w.Write(block)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
