// Package feedback records the feedback of accounts on syntheses.
package feedback

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/feedback"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/speech/generations"
)

// Feedback records feedback.
type Feedback struct {
	journal *journal.Journal
	keys    keyring.Keyring
	ids     generations.IDs
	now     func() time.Time
}

// New returns a Feedback on the syntheses with ids of ids, which takes the time from now.
func New(j *journal.Journal, keys keyring.Keyring, ids generations.IDs, now func() time.Time) *Feedback {
	return &Feedback{journal: j, keys: keys, ids: ids, now: now}
}

// Opinion is a client's opinion of a synthesis.
type Opinion struct {
	About   string // id of the synthesis, as sent by the client
	Rating  string // "thumbsUp" or "thumbsDown"
	Text    string
	Context string
}

// Give records an opinion, with its text sealed, and returns its position in the log. Errors: domain.NotFound for an id
// that is not of a synthesis of the account; domain.Invalid; domain.Rejected after feedback.MaxPerSynthesis.
func (f *Feedback) Give(
	ctx context.Context, account string, o Opinion, origin journal.Origin,
) (eventlog.Position, error) {
	about, made := f.ids.Read(account, o.About)
	if !made {
		return eventlog.Position{}, domain.Refuse(domain.NotFound, "There is no such synthesis")
	}
	content, err := json.Marshal(feedback.Content{About: about.String(), Text: o.Text, Context: o.Context})
	if err != nil {
		return eventlog.Position{}, fmt.Errorf("encoding feedback: %w", err)
	}
	stream := journal.Stream[feedback.State, feedback.Event]{
		Name: feedback.Stream(about.String()), Evolve: feedback.Evolve,
	}
	id, at := uuid.NewString(), f.now().UTC()
	sealed, err := f.keys.Seal(ctx, account, content, feedback.SealedFor(id))
	if err != nil {
		return eventlog.Position{}, fmt.Errorf("sealing feedback: %w", err)
	}
	give := feedback.Give{Feedback: id, Account: account, Rating: feedback.Rating(o.Rating), Sealed: sealed, At: at}
	_, position, err := journal.Execute(ctx, f.journal, stream, give, origin.Metadata(uuid.New(), at))
	return position, err
}
