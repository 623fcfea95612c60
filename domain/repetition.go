package domain

import "time"

// RememberedFor is the time for which a request can be repeated under its Idempotency-Key.
const RememberedFor = 24 * time.Hour

// ErrKeyReused refuses an Idempotency-Key that came with other content before.
var ErrKeyReused = Refuse(Invalid, "The Idempotency-Key was used for another request")

// Repetition identifies the repetitions of a request: a hash of its Idempotency-Key, with account and route, and a hash
// of its content. Both are empty for a request without a key.
type Repetition struct {
	Key     string `json:"key,omitempty"`
	Content string `json:"content,omitempty"`
}

// Repeats reports whether the request repeats an earlier one that is still remembered. The error is ErrKeyReused if the
// key is the same and the content is not.
func (r Repetition) Repeats(earlier Repetition, at, now time.Time) (bool, error) {
	if r.Key == "" || r.Key != earlier.Key || now.Sub(at) >= RememberedFor {
		return false, nil
	}
	if r.Content != earlier.Content {
		return false, ErrKeyReused
	}
	return true, nil
}
