package plan

import "time"

// Entitlement is the plan of an account, and its start. A bought plan ends at End, when the plan Next begins; one
// without an end continues.
type Entitlement struct {
	Plan Type `json:"plan"`
	// Start is the start of the period. Without an end, monthly periods count from it.
	Start time.Time `json:"start"`
	End   time.Time `json:"end,omitzero"`
	Next  Type      `json:"next,omitempty"`
	// Anchor is the time from which the periods of a bought plan count by months.
	Anchor time.Time `json:"anchor,omitzero"`
}

// Period is a time in which characters are counted against one plan.
type Period struct {
	Plan  Type      `json:"plan"`
	Start time.Time `json:"start"`
	End   time.Time `json:"end"` // the start of the next period
}

// At returns the period at a time; before Start it is the first one. A period begins at the end of the previous one,
// even before the provider has confirmed the renewal. Free periods after a bought one count from its end.
func (e Entitlement) At(t time.Time) Period {
	running := e.Running(t)
	if !running.End.IsZero() {
		return Period{Plan: running.Plan, Start: running.Start, End: running.End}
	}
	begin, end := MonthlyPeriod(running.Start, t)
	return Period{Plan: running.Plan, Start: begin, End: end}
}

// Running returns the part of the entitlement that is in force at a time: all of it, or the plan after its end.
func (e Entitlement) Running(t time.Time) Entitlement {
	if e.End.IsZero() || t.Before(e.End) {
		return e
	}
	next := Entitlement{Plan: e.Next, Start: e.End}
	if begin, _ := MonthlyPeriod(e.Anchor, e.End); e.Next != Free && begin.Equal(e.End) {
		next.Start = e.Anchor
	}
	return next
}

// After returns the entitlement as it takes effect at a time when another one is in force. It begins no earlier than
// the period of that time, because past periods are final. Streams are named by the second, so a period that has just
// begun continues, and one that ends in the second of its start is skipped. If the plan is the same, periods without an
// end continue, so that a repeated request grants no new characters. A bought plan that continues after its end does
// so, too: its months may count from before it began for the account, and starting it there would overlap past periods.
func (e Entitlement) After(current Entitlement, at time.Time) Entitlement {
	begun := current.At(at).Start
	if !e.End.IsZero() && e.End.Unix() <= begun.Unix() {
		e = Entitlement{Plan: e.Next, Start: begun}
	}
	running := current.Running(at)
	switch same := e.End.IsZero() && running.End.IsZero() && e.Plan == running.Plan; {
	case same && !current.End.IsZero() && e.Plan != Free:
		return current
	case same:
		e.Start = running.Start
	case e.Start.Unix() <= begun.Unix():
		e.Start = begun
	}
	return e
}
