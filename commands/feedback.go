package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/domain/feedback"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/keyring"
)

// Feedback takes what accounts think of syntheses.
type Feedback struct {
	journal Journal
	keys    keyring.Keyring
	now     func() time.Time
}

// NewFeedback makes a Feedback that tells the time by now.
func NewFeedback(journal Journal, keys keyring.Keyring, now func() time.Time) *Feedback {
	return &Feedback{journal: journal, keys: keys, now: now}
}

// Give keeps an opinion, its words sealed, and tells where in the log it is.
func (f *Feedback) Give(ctx context.Context, account string, rating feedback.Rating, said feedback.Content, actor eventlog.Actor) (eventlog.Position, error) {
	content, err := json.Marshal(said)
	if err != nil {
		return eventlog.Position{}, fmt.Errorf("encoding feedback: %w", err)
	}
	id, at := uuid.NewString(), f.now().UTC()
	sealed, err := f.keys.Seal(ctx, account, content, feedback.SealedFor(id))
	if err != nil {
		return eventlog.Position{}, fmt.Errorf("sealing feedback: %w", err)
	}
	give := feedback.Give{Feedback: id, Account: account, Rating: rating, Sealed: sealed, At: at}
	return execute(ctx, f.journal, feedback.Stream(id), feedback.Evolve, give, Order{Command: uuid.New(), Actor: actor, At: at})
}
