package clip

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// Delete deletes an account's clip.
type Delete struct {
	Clip    string
	Account string
	At      time.Time
}

// Decide refuses a clip that does not exist for the account: never saved, deleted, or another account's.
func (c Delete) Decide(s State) ([]Event, error) {
	if !s.Exists() || s.Account != c.Account {
		return nil, domain.Refuse(domain.NotFound, "There is no such clip")
	}
	return []Event{Deleted{Clip: c.Clip, Account: c.Account, Blob: s.Blob, At: c.At}}, nil
}
