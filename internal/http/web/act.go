package web

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/http/web/bind"
)

// headerReason is the header with which an operator gives the reason of an act.
const headerReason = "x-recital-reason"

// maxReasonLength bounds a reason, and what is recorded of the subject of an act, in characters.
const maxReasonLength = 500

// Act describes what operators and auditors change or copy by a route: it is recorded before the handler is called.
type Act struct {
	Kind string // such as projections-rebuild
	// Own means that the events of the handler's command name who did it, so there is no other event.
	Own bool
	// Reasoned refuses callers who give no reason.
	Reasoned bool
	// Anyway means that the act is carried out although the log takes no events: copies, without which a disk that is full
	// could not be saved.
	Anyway bool
	// Within is the time in which the repetitions of one caller are the same act. 0 records each.
	Within time.Duration
}

// RecordAct records that the caller is about to act on a subject, in words without personal data. It refuses the act by an error.
type RecordAct func(call *Call, act Act, subject string) error

// Acts declares what operators and auditors change or copy by a route.
func Acts(act Act) Option { return func(r *Route) { r.Act = &act } }

// Subject is implemented by inputs that name what is acted on.
type Subject interface{ Subject() string }

// recordAct records the act of a route, once its inputs are valid.
func (s *Server) recordAct(call *Call, e *endpoint, in any) error {
	if e.Act == nil || e.Act.Own {
		return nil
	}
	subject := ""
	if named, ok := in.(Subject); ok {
		subject = named.Subject()
	}
	return s.cfg.Record(call, *e.Act, shortened(subject))
}

// reasonOf returns the reason that an operator gives. It stays in the log, so it holds no e-mail address.
func (c *Call) reasonOf(e *endpoint) (string, error) {
	reason := strings.TrimSpace(c.Header(headerReason))
	refuse := func(message string) (string, error) {
		return "", Invalid(bind.WrongHeader(headerReason, message))
	}
	switch {
	case reason == "" && e.Act != nil && e.Act.Reasoned:
		return refuse("this needs a reason, which is recorded (recitalctl: --reason TEXT)")
	case !utf8.ValidString(reason) || strings.ContainsFunc(reason, unicode.IsControl):
		return refuse("a reason is one line of UTF-8")
	case utf8.RuneCountInString(reason) > maxReasonLength:
		return refuse("a reason has at most 500 characters")
	case strings.Contains(reason, "@"):
		return refuse("a reason stays in the log for good, so it must not hold an e-mail address")
	}
	return reason, nil
}

func shortened(subject string) string {
	if characters := []rune(subject); len(characters) > maxReasonLength {
		return string(characters[:maxReasonLength-1]) + "…"
	}
	return subject
}
