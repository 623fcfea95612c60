package alert

import (
	"cmp"
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

// words has the sentence and the advice for each reason. SOURCE stands for the name of the source. The details are in
// docs/alerts.md.
var words = map[Reason]struct{ sentence, advice string }{
	GaveUp: {"Item SUBJECT of the to-do list SOURCE has failed too often, and is tried only hourly",
		"The error is in the log of the instance. The alert ends when the item is done."},
	Stopped: {"Read models have stopped before an event that they cannot handle (SUBJECT)",
		"Look at the parked event. After a fix retry it, or skip it with a reason."},
	Outdated: {"Read models wait for a release that knows an event (SUBJECT)",
		"Continue the upgrade, or skip the event with a reason."},
	TakenOver: {"Another instance has moved the checkpoint of read model SOURCE while this one was feeding it (SUBJECT)",
		"See whether two instances have the same name (host and data folder), then clear this."},
	NotFed: {"Read model SOURCE has other tables than the release, and is not fed (SUBJECT)",
		"Rebuild the read model."},
	NoAppends: {"SOURCE takes no events (found by SUBJECT)",
		"Usually the disk of the event store is full: make room. No restart is needed."},
	Unpaid: {"Account SUBJECT has lost its plan, because it was not paid in time",
		"Tell the customer, then clear this."},
	Uncollected: {"Invoice SUBJECT, for characters past a plan, was not paid",
		"Tell the customer. The alert ends when the invoice is paid, void or uncollectible."},
	DisputeLost: {"The dispute over the payment of invoice SUBJECT is lost, and the money was returned",
		"Decide whether the account keeps its plan, then clear this."},
	Doubled: {"An account pays two subscriptions (SUBJECT)",
		"End one of the two subscriptions at the payment provider, and refund it."},
	Behind: {"Read model SOURCE is behind the log (SUBJECT)",
		"See whether the read model is being rebuilt, or Postgres is slow."},
	Unreachable: {"SOURCE does not answer (found by SUBJECT)",
		"See whether it is running, and whether the instance named can reach it."},
	CrashLoop: {"Worker processes of SOURCE die one after another (on SUBJECT)",
		"The cause is in the log: memory, a wrong binary, or a text."},
	Failing: {"Too many syntheses fail (on SUBJECT)",
		"The errors are in the log; the parts of the instance show whether workers are running."},
	Refused: {"Notices of the payment provider are refused: is the secret of its webhooks the right one (on SUBJECT)",
		"Compare the secret of the webhooks with the endpoint's page at the payment provider."},
	DiskFull: {"A disk is nearly full (SUBJECT)",
		"Make room on the disk, or enlarge it. When it is full, the event store refuses events."},
	Unsettled: {"Reservations of characters are open past their expiry",
		"See whether an instance is working off its to-dos."},
	Unreconciled: {"The payment provider's events could not be compared with the log (on SUBJECT)",
		"The reason is in the log. The comparison is repeated every hour."},
	ChainBroken: {"The log does not match its signed heads (SUBJECT)",
		"Keep the log as it is, check it, and compare it with a backup."},
	PutBack: {"Events are missing: the log was put back to an older copy (SUBJECT)",
		"Stop all instances and put the newest copy of the log back, or restore the last backup. " +
			"Clear this to continue without the events."},
	Expiring: {"A certificate is about to expire, or has expired (SUBJECT)",
		"Renew the certificate. The alert ends within ten minutes."},
}

func (o Open) what() string {
	if of, known := words[o.Reason]; known {
		return strings.NewReplacer("SOURCE", nameOf(o.Source), "SUBJECT", o.Subject).Replace(of.sentence)
	}
	return fmt.Sprintf("%s: %s (%s)", o.Source, o.Reason, o.Subject)
}

// names are the names of sources for people.
var names = map[string]string{
	LogSource: "The event store", PostgresSource: "Postgres", BlobsSource: "The blob store",
	PaymentsSource: "The payment provider", HostingSource: "The hosting platform",
	MailSource: "The mail server of notices", WebhookSource: "The operators' webhook",
}

// nameOf returns the name of a source for people.
func nameOf(source string) string {
	if name, known := names[source]; known {
		return name
	}
	if kind, name, found := strings.Cut(source, "/"); found {
		if kind == "idp" {
			return "The identity provider " + name
		}
		return name
	}
	return source
}

// Advice returns one or more short sentences on what to do about an alert.
func (o Open) Advice() string { return cmp.Or(words[o.Reason].advice, "See docs/alerts.md.") }
