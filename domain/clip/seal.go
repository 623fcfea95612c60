package clip

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// SealAudio replaces the audio of a clip of an earlier release, which is not sealed, by a sealed copy.
type SealAudio struct {
	Clip    string
	Account string
	From    string // the address of the blob that was copied
	To      string // the address of the sealed copy
	Bytes   int64  // of the audio
	At      time.Time
}

// Decide refuses a clip that is not there any more, and audio that is not the clip's.
func (c SealAudio) Decide(s State) ([]Event, error) {
	switch {
	case !s.Exists() || s.Account != c.Account:
		return nil, domain.Refuse(domain.NotFound, "There is no such clip")
	case c.To == "" || c.Bytes <= 0:
		return nil, domain.Refuse(domain.Invalid, "There is no sealed copy")
	case s.SealedAudio && s.Blob == c.To:
		return nil, nil
	case s.SealedAudio || s.Blob != c.From:
		return nil, domain.Refuse(domain.Conflict, "The clip has other audio")
	}
	return []Event{AudioSealed(c)}, nil
}
