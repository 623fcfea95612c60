package chain

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// LoggedHead is a head in the log.
type LoggedHead struct {
	audit.Head
	Revision uint64            `json:"revision"` // in the stream of heads
	Position eventlog.Position `json:"-"`
}

// LoggedHeadOf returns the head in an event of the stream of heads. Other events become unsigned heads.
func LoggedHeadOf(e eventlog.Recorded) LoggedHead {
	head := LoggedHead{Revision: e.Revision, Position: e.Position}
	if err := json.Unmarshal(e.Data, &head.Head); err != nil {
		head.Head = audit.Head{}
	}
	return head
}

// Config configures the check of a log.
type Config struct {
	Log  string   // id of the log; heads of another one are refused
	Keys []string // public keys that heads may be signed with, in hex
	// Heads returns the heads of the log from a revision of their stream on, in order.
	Heads func(from uint64) iter.Seq2[LoggedHead, error]
	// Exported are heads that were kept elsewhere, in order. Nil means none.
	Exported iter.Seq2[audit.Head, error]
	// From is where an earlier check stopped; nil means the beginning.
	From *Checkpoint
}

// ErrNewer means that a head names a list of streams that this release does not know.
var ErrNewer = errors.New("a newer release has signed a head; check the log with that release")

// Verifier checks a log against heads, with bounded memory, in linear time. It is not safe for concurrent use.
type Verifier struct {
	config    Config
	hasher    Hasher
	streams   eventlog.Streams
	logged    *track
	exported  *track
	report    Report
	revisions revisions // since the last head
}

// NewVerifier returns a Verifier that has read no events. Close must follow.
func NewVerifier(config Config) (*Verifier, error) {
	if config.Exported == nil {
		config.Exported = func(func(audit.Head, error) bool) {}
	}
	from := config.From
	if from == nil {
		from = &Checkpoint{Log: config.Log, Keys: config.Keys, State: Start()}
	}
	if from.Log != config.Log || !slices.Equal(from.Keys, config.Keys) {
		return nil, errors.New("the state is that of a check of another log, or with other keys")
	}
	v := &Verifier{config: config, report: from.Report.clone(), revisions: revisions{}}
	v.hasher.State = from.State
	v.logged = newTrack(config, config.Heads(from.NextHead), from.NextHead, from.Logged)
	v.exported = newTrack(config, located(config.Exported), 0, from.Exported)
	err := v.exported.skip()
	if err == nil {
		err = v.fill()
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

func located(heads iter.Seq2[audit.Head, error]) iter.Seq2[LoggedHead, error] {
	return func(yield func(LoggedHead, error) bool) {
		for head, err := range heads {
			if !yield(LoggedHead{Head: head}, err) {
				return
			}
		}
	}
}

// Close ends the reading of heads.
func (v *Verifier) Close() error {
	v.logged.stop()
	v.exported.stop()
	return nil
}

// fill reads the heads that come next, and sets the list of streams by the first of them.
func (v *Verifier) fill() error {
	if err := errors.Join(v.logged.fill(v.refuse), v.exported.fill(refuseExported)); err != nil {
		return err
	}
	version := v.report.Streams
	for _, t := range []*track{v.exported, v.logged} {
		if len(t.queue) > 0 {
			version = t.queue[0].Streams
		}
	}
	if version == 0 {
		version = Newest
	}
	if v.streams = Streams(version); v.streams == nil {
		return fmt.Errorf("version %d of the list of streams: %w", version, ErrNewer)
	}
	v.report.Streams = version
	return nil
}

// refuse reports an untrusted head of the log. The check continues without it.
func (v *Verifier) refuse(head LoggedHead, fault string) error {
	if head.Revision >= v.logged.Refused {
		v.logged.Refused = head.Revision + 1
		v.find(Finding{Kind: Forged, Head: head.Count, Signed: head.At, After: v.logged.Good,
			Detail: fmt.Sprintf("revision %d: %s", head.Revision, fault)})
	}
	return nil
}

// refuseExported returns an error, because an untrusted exported head is no proof about a log.
func refuseExported(head LoggedHead, fault string) error {
	return fmt.Errorf("the exported head of %d events is not to be trusted: %s", head.Count, fault)
}

// Add checks the next event of the log.
func (v *Verifier) Add(e eventlog.Recorded) error {
	v.report.Position = e.Position
	if !v.streams.Include(e.Stream) {
		v.report.Foreign++
		return nil
	}
	v.hasher.Add(e)
	v.report.Events++
	v.revisions.see(e)
	inLog, outside := v.logged.waiting[e.ID], v.exported.waiting[e.ID]
	if !inLog && !outside {
		return nil
	}
	here := placeOf(e, v.hasher.Count)
	if inLog {
		v.reachLogged(here)
	}
	if outside {
		v.reachExported(here)
	}
	return v.fill()
}

// reachLogged compares the log with the head that covers all events up to here. After a difference the check continues
// from the head's hash, so that one change is found once.
func (v *Verifier) reachLogged(here Place) {
	head, passed, ok := v.logged.take(here)
	if !ok {
		return
	}
	if v.fits(head, passed) {
		v.report.Heads++
	} else {
		v.find(v.difference(head, passed, v.logged.Good, here))
		v.hasher.State = State{Count: head.Count}
		_ = v.hasher.Hash.UnmarshalText([]byte(head.Hash)) // it was judged before
		here.Count = head.Count
	}
	v.logged.Good = here
	v.report.Last = &head.Head
	v.revisions.clear()
}

// reachExported compares the log with an exported head. The first difference is reported: all later ones follow from
// it.
func (v *Verifier) reachExported(here Place) {
	head, passed, ok := v.exported.take(here)
	switch {
	case !ok || v.exported.Differs:
		return
	case v.fits(head, passed):
		v.report.Exported++
		v.exported.Good = here
		return
	}
	v.exported.Differs = true
	finding := v.difference(head, passed, v.exported.Good, here)
	finding.Exported = true
	v.find(finding)
}

func (v *Verifier) fits(head LoggedHead, passed int) bool {
	return passed == 0 && head.Count == v.hasher.Count && head.Hash == v.hasher.Hash.String()
}

// difference describes that the events between two places differ from a head.
func (v *Verifier) difference(head LoggedHead, passed int, after, until Place) Finding {
	finding := Finding{Kind: Altered, Head: head.Count, Signed: head.At, After: after, Until: until,
		Detail: v.revisions.hint}
	switch {
	case head.Count > v.hasher.Count:
		finding.Kind, finding.Events = Removed, head.Count-v.hasher.Count
	case head.Count < v.hasher.Count:
		finding.Kind, finding.Events = Added, v.hasher.Count-head.Count
	case passed > 0 && finding.Detail == "":
		finding.Detail = "the last event of a head before this one is not there"
	}
	return finding
}

func (v *Verifier) find(f Finding) {
	if len(v.report.Findings) < maxFindings {
		v.report.Findings = append(v.report.Findings, f)
	} else {
		v.report.More++
	}
}

// Progress returns the state of the check.
func (v *Verifier) Progress() Report {
	report := v.report.clone()
	report.Uncovered = v.hasher.Count - min(v.hasher.Count, max(v.logged.Good.Count, v.exported.Good.Count))
	return report
}

// End returns the findings after all events up to a position were added. Heads of the log after that position cover
// events that this check has not read, and are left out.
func (v *Verifier) End(until eventlog.Position) (Report, error) {
	err := errors.Join(
		v.unmet(v.logged, v.refuse, func(h LoggedHead) bool { return h.Position.Compare(until) <= 0 }),
		v.unmet(v.exported, refuseExported, func(LoggedHead) bool { return true }),
	)
	if err != nil {
		return Report{}, err
	}
	return v.Progress(), nil
}

// unmet reports that the log ends before heads that cover more events.
func (v *Verifier) unmet(t *track, refuse func(LoggedHead, string) error, upTo func(LoggedHead) bool) error {
	last, unmet, err := t.rest(refuse, upTo)
	if err != nil || unmet == 0 || t.Differs {
		return err
	}
	v.find(Finding{
		Kind: Cut, Exported: t == v.exported, Head: last.Count, Signed: last.At, After: t.Good,
		Events: last.Count - min(last.Count, v.hasher.Count), Detail: v.revisions.hint,
	})
	return nil
}

// Checkpoint returns the position of the check, from which another Verifier continues. Checked events are not read
// again.
func (v *Verifier) Checkpoint() Checkpoint {
	return Checkpoint{
		Log: v.config.Log, Keys: v.config.Keys, State: v.hasher.State, Report: v.report.clone(),
		NextHead: v.logged.nextHead(),
		Logged:   v.logged.Mark, Exported: v.exported.Mark,
	}
}

// Checkpoint is the position of a check. It must be stored where only the checker can write.
type Checkpoint struct {
	Log      string   `json:"log"`
	Keys     []string `json:"keys"`
	State    State    `json:"state"`
	Report   Report   `json:"report"`
	NextHead uint64   `json:"next_head"` // revision
	Logged   Mark     `json:"logged"`
	Exported Mark     `json:"exported"`
}

// Place is an event of the log.
type Place struct {
	Count    uint64            `json:"count"` // of our events, up to and with this one; 0 is the beginning of the log
	Position eventlog.Position `json:"position"`
	ID       string            `json:"id"`
	Stream   string            `json:"stream"`
	Revision uint64            `json:"revision"`
}

func placeOf(e eventlog.Recorded, count uint64) Place {
	return Place{Count: count, Position: e.Position, ID: e.ID.String(), Stream: e.Stream, Revision: e.Revision}
}

// String returns the place in words.
func (p Place) String() string {
	if p.ID == "" {
		return "the beginning of the log"
	}
	return fmt.Sprintf("event %d (revision %d of %s, position %s)", p.Count, p.Revision, p.Stream, p.Position)
}

// revisions checks that the revisions of each stream are consecutive, in the part of the log between two heads. It has
// bounded memory, and is a hint at the changed event rather than a proof.
type revisions struct {
	last map[string]uint64
	hint string
}

// maxStreams bounds the memory of revisions.
const maxStreams = 20_000

func (r *revisions) see(e eventlog.Recorded) {
	last, known := r.last[e.Stream]
	if known && e.Revision != last+1 && r.hint == "" {
		r.hint = fmt.Sprintf("in stream %s, revision %d is followed by revision %d, at position %s", e.Stream, last,
			e.Revision, e.Position)
	}
	if r.last == nil {
		r.last = map[string]uint64{}
	}
	if known || len(r.last) < maxStreams {
		r.last[e.Stream] = e.Revision
	}
}

func (r *revisions) clear() {
	clear(r.last)
	r.hint = ""
}

// maxFindings bounds the listed findings; the others are counted.
const maxFindings = 100

// Report is the result of a check.
type Report struct {
	Position  eventlog.Position `json:"position"`  // of the last event that was read
	Events    uint64            `json:"events"`    // of ours that were read
	Foreign   uint64            `json:"foreign"`   // of other applications
	Streams   int               `json:"streams"`   // version of the list of our streams
	Heads     uint64            `json:"heads"`     // of the log that fit
	Exported  uint64            `json:"exported"`  // exported heads that fit
	Uncovered uint64            `json:"uncovered"` // events after the last head, which are not proved yet
	Last      *audit.Head       `json:"last,omitempty"`
	Findings  []Finding         `json:"findings"`
	More      uint64            `json:"more,omitempty"` // findings that are not listed
}

func (r Report) clone() Report {
	r.Findings = slices.Clone(r.Findings)
	return r
}

// Intact reports whether heads were found, and the log agrees with them.
func (r Report) Intact() bool { return len(r.Findings) == 0 && r.Heads+r.Exported > 0 }

// Kind is the kind of a change to a log.
type Kind string

// The kinds of findings.
const (
	Altered Kind = "altered" // an event was changed, or events are in another order
	Removed Kind = "removed"
	Added   Kind = "added"
	Cut     Kind = "cut"    // the log ends before the last event that a head speaks of, or lacks that event
	Forged  Kind = "forged" // a head is not signed by a key that is trusted, or is of another log
)

// Finding is a difference between a log and a head, somewhere after one place, up to another.
type Finding struct {
	Kind     Kind      `json:"kind"`
	Exported bool      `json:"exported"` // an exported head says so, while the log's own heads do not
	Events   uint64    `json:"events,omitempty"`
	Head     uint64    `json:"head"` // count of the head
	Signed   time.Time `json:"signed"`
	After    Place     `json:"after"`
	Until    Place     `json:"until"`
	Detail   string    `json:"detail,omitempty"`
}

// String returns the finding as sentences.
func (f Finding) String() string {
	head := fmt.Sprintf("the head of %d events, signed at %s", f.Head, f.Signed.UTC().Format(time.RFC3339))
	var text string
	switch f.Kind {
	case Forged:
		text = "A head is not to be trusted: " + head
	case Cut:
		text = fmt.Sprintf("The log ends after %s, or lacks what follows: %s speaks of %d events more", f.After, head,
			f.Events)
	case Removed:
		text = fmt.Sprintf("%d events were removed after %s and before %s, according to %s", f.Events, f.After, f.Until, head)
	case Added:
		text = fmt.Sprintf("%d events were added after %s and before %s, according to %s", f.Events, f.After, f.Until, head)
	default:
		text = fmt.Sprintf("An event after %s, and at the latest %s, was changed, replaced or put in "+
			"another order, according to %s", f.After, f.Until, head)
	}
	if f.Exported && f.Kind != Forged {
		text += "; that head was kept elsewhere: where the log's own heads fit, somebody with the key " +
			"has signed another history"
	}
	if f.Detail != "" {
		text += " (" + f.Detail + ")"
	}
	return text
}
