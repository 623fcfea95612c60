// Package ledger is the aggregate of the streams usage-<account>-<start of the period in Unix seconds>: the characters
// that an account uses in one period. Characters are reserved before any audio is sent and settled at the end of the
// reply. A reservation that is not settled in time expires and costs nothing. Characters are Unicode code points.
package ledger

import (
	"fmt"
	"time"

	"github.com/recital-tts/recital/domain/plan"
)

// StreamPrefix begins the names of the streams of periods.
const StreamPrefix = "usage-"

// Stream returns the name of the stream of an account's period that starts at a time.
func Stream(account string, start time.Time) string {
	return fmt.Sprintf("%s%s-%d", StreamPrefix, account, start.Unix())
}

// Event is one of the events below.
type Event interface{ ledgerEvent() }

// PeriodOpened opens a period on the terms of a plan.
type PeriodOpened struct {
	Account string    `json:"account"`
	Plan    plan.Type `json:"plan"`
	Limit   *int64    `json:"limit"` // characters included; null means no limit
	Metered bool      `json:"metered"`
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`     // the start of the next period
	Version int64     `json:"version"` // of the entitlement of these terms; 0 for the plan of the opening
}

// TermsChanged puts a period on the terms of a newer entitlement. Overage is the usage past plan and credit until then,
// if the plan bills it: it is billed on the ended terms, and does not count on the new ones. All other usage does.
type TermsChanged struct {
	PeriodOpened
	Before  int64     `json:"before"`  // version of the entitlement of the ended terms
	Overage int64     `json:"overage"` // characters
	At      time.Time `json:"at"`
}

// Ended ends a period, before or after its end time, because the account's next period begins at To. Open reservations
// are still settled here.
type Ended struct {
	Account string    `json:"account"`
	Start   time.Time `json:"start"` // of the period
	End     time.Time `json:"end"`   // of the period, now
	To      time.Time `json:"to"`
	At      time.Time `json:"at"`
}

// Closed records that the usage of a period is final. Overage is the usage past plan and credit on its last terms, if
// the plan bills it.
type Closed struct {
	Account string    `json:"account"`
	Version int64     `json:"version"` // of the entitlement of the last terms
	Overage int64     `json:"overage"` // characters
	Start   time.Time `json:"start"`   // of the period
	To      time.Time `json:"to"`      // start of the account's next period
	At      time.Time `json:"at"`
}

// OverageBilled records that an overage of a period is billed: Units whole units, for Amount minor units of the
// currency, by the provider's Item, which is empty if the overage costs nothing.
type OverageBilled struct {
	Account    string    `json:"account"`
	Version    int64     `json:"version"` // of the entitlement of the billed terms
	Characters int64     `json:"characters"`
	Units      int64     `json:"units"`
	Amount     int64     `json:"amount"`
	Currency   string    `json:"currency"`
	Item       string    `json:"item"`
	Start      time.Time `json:"start"` // of the period
	At         time.Time `json:"at"`
}

// BroughtIn counts characters against a new period, which an earlier account of the same person has used in it.
type BroughtIn struct {
	Account    string    `json:"account"`
	Characters int64     `json:"characters"`
	Start      time.Time `json:"start"` // of the period
}

// Reserved reserves characters for a reply.
type Reserved struct {
	Account     string    `json:"account"`
	Reservation string    `json:"reservation"`
	Characters  int64     `json:"characters"`
	Source      Source    `json:"source"`
	At          time.Time `json:"at"`
	ExpiresAt   time.Time `json:"expiresAt"`
}

// Settled ends a reservation with the number of characters that were delivered to the client.
type Settled struct {
	Account     string    `json:"account"`
	Reservation string    `json:"reservation"`
	Characters  int64     `json:"characters"`
	Source      Source    `json:"source"`
	Start       time.Time `json:"start"` // of the period
	At          time.Time `json:"at"`
}

// UsageReached follows the Settled with which the use of a period reaches a share of plan and credit.
type UsageReached struct {
	Account    string    `json:"account"`
	Percent    int64     `json:"percent"`    // 80 or 100
	Characters int64     `json:"characters"` // used on the current terms
	Limit      int64     `json:"limit"`      // characters of plan and credit
	Start      time.Time `json:"start"`      // of the period
	At         time.Time `json:"at"`
}

// SpendingReached follows the Settled with which the cost of a period past its plan reaches a share of the spending
// cap. Amounts are in minor units.
type SpendingReached struct {
	Account  string    `json:"account"`
	Percent  int64     `json:"percent"` // 80 or 100
	Spent    int64     `json:"spent"`
	Cap      int64     `json:"cap"`
	Currency string    `json:"currency"`
	Start    time.Time `json:"start"` // of the period
	At       time.Time `json:"at"`
}

// Expired ends a reservation that was never settled. It costs nothing.
type Expired struct {
	Account     string    `json:"account"`
	Reservation string    `json:"reservation"`
	At          time.Time `json:"at"`
}

// SnapshotTaken repeats the whole state, so that a load need not read further back.
type SnapshotTaken struct {
	PeriodOpened
	Characters   int64         `json:"characters"` // settled, excluding overages
	Reservations []Reservation `json:"reservations"`
	Overages     []Overage     `json:"overages"` // of earlier terms
	At           time.Time     `json:"at"`

	Cap  plan.SpendingCap `json:"cap,omitzero"`
	Rate plan.Rate        `json:"rate,omitzero"`
}

// CreditGranted adds characters that are spent after the plan's. Start and End bound the period.
type CreditGranted struct {
	Account    string     `json:"account"`
	Grant      string     `json:"grant"` // id of the grant, which counts once however often it is requested
	Characters int64      `json:"characters"`
	Start      time.Time  `json:"start"`
	End        time.Time  `json:"end"`
	From       *time.Time `json:"from"` // start of the period that it was carried from; null if granted by an operator
	At         time.Time  `json:"at"`
}

// CreditCarried ends a period that had credit, if it has not ended: the remaining characters are granted in the period
// that starts at To.
type CreditCarried struct {
	Account    string    `json:"account"`
	Characters int64     `json:"characters"`
	Start      time.Time `json:"start"` // of the period
	To         time.Time `json:"to"`
	At         time.Time `json:"at"`
}

// CreditSnapshotTaken directly follows a SnapshotTaken of a period with credit.
type CreditSnapshotTaken struct {
	Account string     `json:"account"`
	Grants  []Credited `json:"grants"`
	At      time.Time  `json:"at"`
}

// Overage is the usage of a period past plan and credit on the terms of one entitlement.
type Overage struct {
	Plan       plan.Type `json:"plan"`
	Version    int64     `json:"version"` // of the entitlement
	Characters int64     `json:"characters"`
	At         time.Time `json:"at"` // when the terms, or the period, ended
	Billed     bool      `json:"billed"`
	// Amount is their cost in minor units: as billed, or before that at the rate of a spending cap; 0 while neither is
	// known.
	Amount int64 `json:"amount,omitzero"`
}

// PeriodOverage is the usage of a period past plan and credit, on the terms of one entitlement.
type PeriodOverage struct {
	Account    string
	Plan       plan.Type
	Start      time.Time // of the period
	End        time.Time // of these terms
	Characters int64
	At         time.Time // when it was recorded
	Billed     bool      // true for a free one, too
}

// Bill is the billing of an overage: whole units, for an amount in minor units of the currency, by an item of the
// payment provider. The item is empty if the overage is free.
type Bill struct {
	Units, Amount  int64
	Currency, Item string
}

// Reservation is an open reservation.
type Reservation struct {
	ID         string    `json:"id"`
	Characters int64     `json:"characters"`
	Source     Source    `json:"source"`
	At         time.Time `json:"at"`
	ExpiresAt  time.Time `json:"expiresAt"`
}

// Source is how characters are used.
type Source string

// The sources. Their usage is counted separately, and against the same limit.
const (
	API        Source = "api"        // with an API key
	Playground Source = "playground" // in a browser, with a session
)

func (PeriodOpened) ledgerEvent()    {}
func (TermsChanged) ledgerEvent()    {}
func (Ended) ledgerEvent()           {}
func (Closed) ledgerEvent()          {}
func (OverageBilled) ledgerEvent()   {}
func (BroughtIn) ledgerEvent()       {}
func (Reserved) ledgerEvent()        {}
func (Settled) ledgerEvent()         {}
func (UsageReached) ledgerEvent()    {}
func (SpendingReached) ledgerEvent() {}
func (Expired) ledgerEvent()         {}
func (SnapshotTaken) ledgerEvent()   {}

func (CreditGranted) ledgerEvent()       {}
func (CreditCarried) ledgerEvent()       {}
func (CreditSnapshotTaken) ledgerEvent() {}
