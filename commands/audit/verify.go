package audit

import (
	"context"
	"fmt"
	"iter"

	"github.com/recital-tts/recital/internal/events/chain"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logcopy"
)

// Verification is the progress of a check of the whole log.
type Verification struct {
	chain.Report
	Until eventlog.Position `json:"until"` // end of the check: the head of the log at its start
}

// progressEvery is the number of events between two calls of progress.
const progressEvery = 500

// Verify checks the whole log against its heads that are signed with the key of this instance, and calls progress after
// every progressEvery events. Calls may run concurrently.
func (h *Heads) Verify(ctx context.Context, progress func(Verification) error) (Verification, error) {
	until, err := h.Journal.Log.Head(ctx)
	if err != nil {
		return Verification{}, fmt.Errorf("checking the log: %w", err)
	}
	verifier, err := chain.NewVerifier(chain.Config{
		Log: h.Log, Keys: []string{h.key},
		Heads: func(from uint64) iter.Seq2[chain.LoggedHead, error] { return h.From(ctx, from) },
	})
	if err != nil {
		return Verification{}, fmt.Errorf("beginning to check the log: %w", err)
	}
	defer verifier.Close()
	read := 0
	for event, err := range logcopy.Read(ctx, h.Journal.Log, eventlog.Start(), until) {
		if err == nil {
			err = verifier.Add(event)
		}
		if read++; err == nil && read%progressEvery == 0 {
			err = progress(Verification{verifier.Progress(), until})
		}
		if err != nil {
			return Verification{}, fmt.Errorf("checking the log: %w", err)
		}
	}
	report, err := verifier.End(until)
	return Verification{report, until}, err
}
