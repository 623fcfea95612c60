package plan

import "time"

// Entitlement is the plan that an account is on, and since when. A plan that was bought ends at End, where the plan
// Next begins; one without an end goes on.
type Entitlement struct {
	Plan Type `json:"plan"`
	// Start is that of the period. Where there is no end, monthly periods count from it.
	Start time.Time `json:"start"`
	End   time.Time `json:"end,omitzero"`
	Next  Type      `json:"next,omitempty"`
	// Anchor is a time from which the periods of a bought plan count by months.
	Anchor time.Time `json:"anchor,omitzero"`
}

// Period is a time in which characters are counted against one plan.
type Period struct {
	Plan  Type      `json:"plan"`
	Start time.Time `json:"start"`
	End   time.Time `json:"end"` // the start of the next period
}

// At returns the period at a time; before Start it is the first one. A period begins where the last one ended, even
// before anybody has said that the plan was bought again; free periods count anew after a bought one.
func (e Entitlement) At(t time.Time) Period {
	running := e.Running(t)
	if !running.End.IsZero() {
		return Period{Plan: running.Plan, Start: running.Start, End: running.End}
	}
	begin, end := MonthlyPeriod(running.Start, t)
	return Period{Plan: running.Plan, Start: begin, End: end}
}

// Running returns what is left of the entitlement at a time: all of it, or what follows its end.
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
// the period of then, because what is over stays as it was. Streams are named by the second, so a period goes on that
// has only just begun, and one that ends in the second of its start is passed over. Where the plan is the same, periods
// without an end go on, so that asking for them gives nobody new characters. So does a bought plan that continues after
// its end: its months may count from before it began for the account, and starting it there would overlap what is over.
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
