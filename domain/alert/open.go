package alert

import (
	"fmt"
	"strings"
	"time"
)

// The sources that exist once. The names of others follow a slash: todo/<process>, projection/<name>, workers/<kind>,
// idp/<provider>.
const (
	EventSource    = "event"
	LogSource      = "log"
	PostgresSource = "postgres"
	BlobsSource    = "blobs"
	PaymentsSource = "payments"
	HostingSource  = "hosting"
	MailSource     = "mail"
	WebhookSource  = "webhook"
	SpeechSource   = "speech"
	DiskSource     = "disk"
	LedgerSource   = "ledger"
	ChainSource    = "chain"
	ExpirySource   = "expiry"
)

// ToDoSource returns the source of a to-do process.
func ToDoSource(process string) string { return "todo/" + process }

// Open is an alert that was not cleared.
type Open struct {
	Condition
	Alert   string // "" while the log does not have it yet
	Since   time.Time
	Lasting bool // whether it is the alert of a condition, which is cleared when the condition ends
}

// Sentence describes the alert for a person. It begins with a capital letter and ends without a full stop.
func (o Open) Sentence() string {
	when := ", since "
	if !o.Lasting {
		when = ", at "
	}
	return o.what() + when + o.Since.UTC().Format(time.DateTime+" UTC")
}

// sentences describe the reasons; SOURCE is the name of the source.
var sentences = map[Reason]string{
	GaveUp:       "Item SUBJECT of the to-do list SOURCE has failed too often, and is tried only hourly",
	Stopped:      "Read models have stopped before an event that they cannot handle (SUBJECT)",
	Parked:       "Read models continue without an event that they cannot handle (SUBJECT)",
	Outdated:     "Read models wait for a release that knows an event (SUBJECT)",
	TakenOver:    "Another instance has moved the checkpoint of read model SOURCE while this one was feeding it (SUBJECT)",
	NotFed:       "Read model SOURCE has other tables than the release, and is not fed (SUBJECT)",
	NoAppends:    "SOURCE takes no events (found by SUBJECT)",
	Unpaid:       "Account SUBJECT has lost its plan, because it was not paid in time",
	Uncollected:  "Invoice SUBJECT, for characters past a plan, was not paid",
	DisputeLost:  "The dispute over the payment of invoice SUBJECT is lost, and the money was returned",
	Doubled:      "An account pays two subscriptions (SUBJECT)",
	Behind:       "Read model SOURCE is behind the log (SUBJECT)",
	Unreachable:  "SOURCE does not answer (found by SUBJECT)",
	CrashLoop:    "Worker processes of SOURCE die one after another (on SUBJECT)",
	Failing:      "Too many syntheses fail (on SUBJECT)",
	Refused:      "Notices of the payment provider are refused: is the secret of its webhooks the right one (on SUBJECT)",
	DiskFull:     "A disk is nearly full (SUBJECT)",
	Unsettled:    "Reservations of characters are open past their expiry",
	Unreconciled: "The payment provider's events could not be compared with the log (on SUBJECT)",
	ChainBroken:  "The log does not match its signed heads (SUBJECT)",
	PutBack:      "Events are missing: the log was put back to an older copy (SUBJECT)",
	Expiring:     "A certificate is about to expire, or has expired (SUBJECT)",
}

func (o Open) what() string {
	if sentence, known := sentences[o.Reason]; known {
		return strings.NewReplacer("SOURCE", nameOf(o.Source), "SUBJECT", o.Subject).Replace(sentence)
	}
	return fmt.Sprintf("%s: %s (%s)", o.Source, o.Reason, o.Subject)
}

// nameOf returns the name of a source for people.
func nameOf(source string) string {
	switch source {
	case LogSource:
		return "The event store"
	case PostgresSource:
		return "Postgres"
	case BlobsSource:
		return "The blob store"
	case PaymentsSource:
		return "The payment provider"
	case HostingSource:
		return "The hosting platform"
	case MailSource:
		return "The mail server of notices"
	case WebhookSource:
		return "The operators' webhook"
	}
	if kind, name, found := strings.Cut(source, "/"); found {
		if kind == "idp" {
			return "The identity provider " + name
		}
		return name
	}
	return source
}

// Advice returns one or more short sentences on what to do about an alert. The details are in docs/alerts.md.
func (o Open) Advice() string {
	switch o.Reason {
	case GaveUp:
		return "The error is in the log of the instance. The alert ends when the item is done."
	case Stopped, Parked:
		return "Look at the parked event. After a fix retry it, or skip it with a reason."
	case Outdated:
		return "Continue the upgrade, or skip the event with a reason."
	case TakenOver:
		return "See whether two instances have the same name (host and data folder), then clear this."
	case NotFed:
		return "Rebuild the read model."
	case NoAppends:
		return "Usually the disk of the event store is full: make room. No restart is needed."
	case Unpaid:
		return "Tell the customer, then clear this."
	case Uncollected:
		return "Tell the customer. The alert ends when the invoice is paid, void or uncollectible."
	case DisputeLost:
		return "Decide whether the account keeps its plan, then clear this."
	case Doubled:
		return "End one of the two subscriptions at the payment provider, and refund it."
	case Behind:
		return "See whether the read model is being rebuilt, or Postgres is slow."
	case Unreachable:
		return "See whether it is running, and whether the instance named can reach it."
	case CrashLoop:
		return "The cause is in the log: memory, a wrong binary, or a text."
	case Failing:
		return "The errors are in the log; the parts of the instance show whether workers are running."
	case Refused:
		return "Compare the secret of the webhooks with the endpoint's page at the payment provider."
	case DiskFull:
		return "Make room on the disk, or enlarge it. When it is full, the event store refuses events."
	case Unsettled:
		return "See whether an instance is working off its to-dos."
	case Unreconciled:
		return "The reason is in the log. The comparison is repeated every hour."
	case ChainBroken:
		return "Keep the log as it is, check it, and compare it with a backup."
	case PutBack:
		return "Stop all instances and put the newest copy of the log back, or restore the last backup. " +
			"Clear this to continue without the events."
	case Expiring:
		return "Renew the certificate. The alert ends within ten minutes."
	}
	return "See docs/alerts.md."
}
