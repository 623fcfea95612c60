// Package audit records who reads personal data.
package audit

import (
	"time"

	"github.com/recital-tts/recital/commands/journal"
)

// Audit executes the commands and queries of auditors.
type Audit struct {
	journal *journal.Journal
	now     func() time.Time
}

// New returns an Audit.
func New(j *journal.Journal, now func() time.Time) *Audit { return &Audit{journal: j, now: now} }
