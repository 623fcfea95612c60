package alerts

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/alert"
)

// todoSource precedes the name of a to-do process in a source.
const todoSource = "todo/"

// ToDoSource returns the source of a to-do process.
func ToDoSource(process string) string { return todoSource + process }

// Occasion is what an alert is raised for. Source, subject, reason and cause identify it: every instance that notices it,
// also after a restart, raises the same alert, which is in the log once.
type Occasion struct {
	Source  string // part that noticed it, such as todo/expiry
	Subject string // id of what it is about, never personal data
	Reason  alert.Reason
	Cause   uuid.UUID // of the event, or of the command, that led to it; zero if there is none
	Detail  string    // for the log line alone; never personal data
	At      time.Time
}

// id returns the id of the command and of the alert. That of a to-do item is the id that earlier releases raised it under.
func (o Occasion) id() uuid.UUID {
	source := strings.TrimPrefix(o.Source, todoSource)
	reason := strings.ReplaceAll(string(o.Reason), "_", " ")
	return uuid.NewSHA1(o.Cause, []byte(source+" "+reason+" "+o.Subject))
}

func (o Occasion) origin() journal.Origin {
	if o.Cause == uuid.Nil {
		return journal.System()
	}
	return journal.CausedBy(o.Cause)
}
