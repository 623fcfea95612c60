package audit

import (
	"slices"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events returns the event types of auditing.
func Events() []eventlog.Type {
	return slices.Concat(
		eventlog.In(audit.ReadStreamPrefix, eventlog.Define[audit.PersonalDataRead]("personal-data-read", 1)),
		eventlog.In(audit.ActStreamPrefix, eventlog.Define[audit.OperatorActed]("operator-acted", 1)),
		eventlog.In(audit.HeadStream, eventlog.Define[audit.Head]("audit-head-signed", 1)),
	)
}
