package clip

import "github.com/recital-tts/recital/domain"

// Save saves a result. Saving it again has no effect.
type Save Saved

// Decide refuses a clip that lacks a part, and the id of another or a deleted clip.
func (c Save) Decide(s State) ([]Event, error) {
	switch {
	case !ValidID(c.Clip), c.Account == "", c.Blob == "", c.Bytes <= 0, c.MediaType == "", len(c.Sealed) == 0:
		return nil, domain.Refuse(domain.Invalid, "A clip needs an id, an account, audio and a sealed text")
	case s.Deleted, s.Exists() && (s.Account != c.Account || s.Blob != c.Blob):
		return nil, domain.Refuse(domain.Conflict, "There is another clip of this id")
	case s.Exists():
		return nil, nil
	}
	return []Event{Saved(c)}, nil
}
