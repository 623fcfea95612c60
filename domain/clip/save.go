package clip

import "github.com/recital-tts/recital/domain"

// Save keeps a result. Saving it again changes nothing.
type Save Saved

// Decide refuses a clip that nobody could find, play or read.
func (c Save) Decide(s State) ([]Event, error) {
	switch {
	case !ValidID(c.Clip), c.Account == "", c.Blob == "", c.Bytes <= 0, c.MediaType == "", len(c.Sealed) == 0:
		return nil, domain.Refuse(domain.Invalid, "a clip needs an id, an account, audio and a sealed text")
	case s.Deleted, s.Exists() && (s.Account != c.Account || s.Blob != c.Blob):
		return nil, domain.Refuse(domain.Conflict, "there is another clip of this id")
	case s.Exists():
		return nil, nil
	}
	return []Event{Saved(c)}, nil
}
