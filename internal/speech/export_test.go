package speech

import "unicode/utf8"

// Waiting returns the number of code points that have not been returned.
func (s *Segmenter) Waiting() int { return utf8.RuneCountInString(s.text) }
