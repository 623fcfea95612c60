package audit

import (
	"fmt"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// acts say what operators and auditors are about to do.
var acts = map[string]string{
	audit.ActRebuild:       "Read models are to be built again: %s",
	audit.ActPromote:       "Generations of read models are to be live: %s",
	audit.ActRollback:      "A read model is to be rolled back: %s",
	audit.ActRetire:        "A generation of a read model is to be dropped: %s",
	audit.ActRetry:         "A parked event is to be tried again: %s",
	audit.ActCopyLog:       "Events of the log are copied%.0s",
	audit.ActCopyBlobs:     "Blobs are copied%.0s",
	audit.ActCopyKeyring:   "The keyring is copied%.0s",
	audit.ActImportKeyring: "A copy of the keyring is to be imported%.0s",
	audit.ActDrain:         "An instance is to be drained%.0s",
}

// ofOperators returns what is done to the service itself.
func ofOperators(event any) (entry, bool) {
	e := entry{area: readmodel.AuditOperators}
	switch o := event.(type) {
	case audit.OperatorActed:
		words, known := acts[o.Kind]
		if !known {
			words = o.Kind + ": %s"
		}
		e.said = fmt.Sprintf(words, o.Subject)
	case alert.Cleared:
		e.said, e.routine = "Alert "+o.Alert+" was cleared", true
	case alert.ConditionCleared:
		e.said, e.routine = "Alert "+o.Alert+" was cleared", true
	case eventlog.LogOpened:
		e.said, e.routine = fmt.Sprintf("Epoch %d of log %s was opened: it was restored or moved", o.Epoch, o.LogID), true
	default:
		return entry{}, false
	}
	return e, true
}
