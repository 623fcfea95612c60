// Package ledger is the aggregate of stream usage-<account>-<start of the period in Unix seconds>: the characters that an
// account uses in one period. Characters are reserved before audio leaves and settled at the end of the reply; what
// was not settled in time expires and costs nothing. Characters are Unicode code points.
package ledger

import (
	"time"

	"github.com/recital-tts/recital/domain/plan"
)

// Event is one of the events below.
type Event interface{ ledgerEvent() }

// PeriodOpened begins a period on the terms of a plan.
type PeriodOpened struct {
	Account string    `json:"account"`
	Plan    plan.Type `json:"plan"`
	Limit   *int64    `json:"limit"` // characters included; null is no limit
	Metered bool      `json:"metered"`
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"` // the first moment of the next period
}

// Reserved sets characters aside for a reply.
type Reserved struct {
	Account     string    `json:"account"`
	Reservation string    `json:"reservation"`
	Characters  int64     `json:"characters"`
	At          time.Time `json:"at"`
	ExpiresAt   time.Time `json:"expiresAt"`
}

// Settled ends a reservation with the characters that were handed to the client.
type Settled struct {
	Account     string    `json:"account"`
	Reservation string    `json:"reservation"`
	Characters  int64     `json:"characters"`
	Start       time.Time `json:"start"` // of the period
	At          time.Time `json:"at"`
}

// Expired ends a reservation that was never settled. It costs nothing.
type Expired struct {
	Account     string    `json:"account"`
	Reservation string    `json:"reservation"`
	At          time.Time `json:"at"`
}

// Summed repeats the whole state, so that a load need not read further back.
type Summed struct {
	PeriodOpened
	Characters   int64         `json:"characters"` // settled
	Reservations []Reservation `json:"reservations"`
	At           time.Time     `json:"at"`
}

// CreditGranted adds characters that are spent after the plan's. Start and End are those of the period.
type CreditGranted struct {
	Account    string     `json:"account"`
	Grant      string     `json:"grant"` // granted once, however often it is asked for
	Characters int64      `json:"characters"`
	Start      time.Time  `json:"start"`
	End        time.Time  `json:"end"`
	From       *time.Time `json:"from"` // start of the period that it was carried from; null when an operator granted it
	At         time.Time  `json:"at"`
}

// CreditCarried ends a period that had credit: what is left of it is granted in the period that starts at To. Zero
// characters only end the period.
type CreditCarried struct {
	Account    string    `json:"account"`
	Characters int64     `json:"characters"`
	Start      time.Time `json:"start"` // of the period
	To         time.Time `json:"to"`
	At         time.Time `json:"at"`
}

// CreditSummed comes right after a Summed of a period with credit. It is an event of its own so that an instance of a
// release that knows no credit stops at it, rather than taking the sum for all there is.
type CreditSummed struct {
	Account string     `json:"account"`
	Grants  []Credited `json:"grants"`
	At      time.Time  `json:"at"`
}

// Reservation is an open one.
type Reservation struct {
	ID         string    `json:"id"`
	Characters int64     `json:"characters"`
	ExpiresAt  time.Time `json:"expiresAt"`
}

func (PeriodOpened) ledgerEvent() {}
func (Reserved) ledgerEvent()     {}
func (Settled) ledgerEvent()      {}
func (Expired) ledgerEvent()      {}
func (Summed) ledgerEvent()       {}

func (CreditGranted) ledgerEvent() {}
func (CreditCarried) ledgerEvent() {}
func (CreditSummed) ledgerEvent()  {}
