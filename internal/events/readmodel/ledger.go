package readmodel

import (
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

// Usage is the read model of accounts' usage: periods with their credit and their billing, days, and open
// reservations.
var Usage = Model{Name: "usage", Version: 1}

// UsagePeriodRow is a period with a use or a grant, in settled characters.
type UsagePeriodRow struct {
	Account       string    `col:"account_id,key"`
	Start         time.Time `col:"period_start,key"`
	End           time.Time `col:"period_end"`
	Plan          plan.Type `col:"plan"`
	Limit         *int64    `col:"character_limit"`       // NULL: there is none
	Characters    int64     `col:"characters"`            // by API key, or from a closed account
	Playground    int64     `col:"playground_characters"` // by session
	CreditGranted int64     `col:"credit_granted"`
	CreditCarried int64     `col:"credit_carried"` // into a later period
	Overage       int64     `col:"overage"`        // of the characters: billed on earlier terms
	Billed        int64     `col:"billed_amount"`  // for overage of the period, in minor units of the currency
	CreditLeft    int64     `col:"credit_left" sql:""`
}

// Counted returns the characters, by API key and by session, that count on the terms of the period.
func (r UsagePeriodRow) Counted() (characters, playground int64) {
	billed := min(r.Overage, r.Characters)
	return r.Characters - billed, r.Playground - (r.Overage - billed)
}

// UsagePeriodsView shows all periods. The remaining credit is ledger.State.CreditLeft over the other columns. Without a
// limit no credit is spent, because greatest ignores NULL.
var UsagePeriodsView = Show(Usage, table.Of[UsagePeriodRow]("usage_periods").
	Expression("credit_left", `credit_granted - credit_carried
		- least(greatest(characters + playground_characters - overage - character_limit, 0), credit_granted)`))

// DailyUsageRow is an account's usage on a day (UTC), in characters settled on that day. Days without usage have no
// row.
type DailyUsageRow struct {
	Account    string    `col:"account_id,key"`
	Day        time.Time `col:"day,key,date"`
	API        int64     `col:"api_characters"`
	Playground int64     `col:"playground_characters"`
}

// DailyUsageView shows all days.
var DailyUsageView = Show(Usage, table.Of[DailyUsageRow]("daily_usage"))

// UsageByKey is the read model of accounts' usage by API key.
var UsageByKey = Model{Name: "usage_by_key", Version: 1}

// KeyUsageRow is a key's usage on a day (UTC), in characters settled on that day. Days without usage have no row.
type KeyUsageRow struct {
	Account    string    `col:"account_id,key"`
	Key        string    `col:"api_key,key"` // masked
	Day        time.Time `col:"day,key,date"`
	Characters int64     `col:"characters"`
}

// KeyUsageView shows all days of all keys, including revoked ones.
var KeyUsageView = Show(UsageByKey, table.Of[KeyUsageRow]("key_usage"))

// ReservationRow is a reservation that is neither settled nor expired.
type ReservationRow struct {
	ID         string    `col:"reservation_id,key"`
	Stream     string    `col:"stream"`
	Account    string    `col:"account_id"`
	Characters int64     `col:"characters"`
	ExpiresAt  time.Time `col:"expires_at"`
}

// OpenReservationsView shows all open reservations.
var OpenReservationsView = Show(Usage, table.Of[ReservationRow]("open_reservations").
	Index("open_reservations_due", "expires_at").
	Index("open_reservations_of_stream", "stream"))

// ToDoExpiryView lists the open reservations, which expire if they are not settled. The cause is the reserving command,
// which has the reservation's id.
var ToDoExpiryView = ToDoFrom(Usage, "todo_expiry",
	`select reservation_id as item, stream, expires_at as due_at, reservation_id as cause from open_reservations`)

// PeriodToDoRow is a period with pending work. Unlike the table of all periods of all accounts, the tables of these
// rows are small.
type PeriodToDoRow struct {
	Account string    `col:"account_id,key"`
	Start   time.Time `col:"period_start,key"`
	Stream  string    `col:"stream"`
	Due     time.Time `col:"due_at"`
	Cause   string    `col:"cause"`
}

// The tables behind the to-do lists of periods. Their items are streams of periods.
var (
	// CreditPeriods holds the periods with credit that was not carried forward.
	CreditPeriods = table.Of[PeriodToDoRow]("credit_periods").Index("credit_periods_due", "due_at")
	// MeteredPeriods holds the periods of metered plans that are not closed.
	MeteredPeriods = table.Of[PeriodToDoRow]("metered_periods").Index("metered_periods_due", "due_at")
)

// OverageRow is unbilled usage past plan and credit on terms that have ended.
type OverageRow struct {
	Account string    `col:"account_id,key"`
	Start   time.Time `col:"period_start,key"`
	Version int64     `col:"version,key"` // of the entitlement
	Stream  string    `col:"stream"`
	Due     time.Time `col:"due_at"`
	Cause   string    `col:"cause"`
}

// Overages is the table behind ToDoBillOverageView.
var Overages = table.Of[OverageRow]("overages").Index("overages_due", "due_at")

// ToDoCreditView lists the periods with credit to carry into the next one, once they have no reservations: until then
// the remainder is unknown.
var ToDoCreditView = ToDoFrom(Usage, "todo_credit", periodsWithoutReservations(CreditPeriods))

// ToDoClosePeriodView lists the periods of metered plans, which are closed some time after their end, once they have no
// reservations: until then the overage is unknown.
var ToDoClosePeriodView = ToDoFrom(Usage, "todo_close_period", periodsWithoutReservations(MeteredPeriods))

// ToDoBillOverageView lists the unbilled overages. An item is the stream of a period, a slash, and the version of the
// entitlement. The cause is the event that changed the terms, or closed the period.
var ToDoBillOverageView = ToDoFrom(Usage, "todo_bill_overage",
	`select stream || '/' || version as item, stream, due_at, cause from overages`)

func periodsWithoutReservations(periods table.Typed[PeriodToDoRow]) string {
	return `select p.stream as item, p.stream, p.due_at, p.cause from ` + periods.Name() + ` p
		where not exists (select from open_reservations r where r.stream = p.stream)`
}

// UnfollowedEntitlementRow is an entitlement that no period follows yet.
type UnfollowedEntitlementRow struct {
	Account string    `col:"account_id,key"`
	Version int64     `col:"version,key"`
	Since   time.Time `col:"since"`
	Cause   string    `col:"cause"`
}

// UnfollowedEntitlements is the table behind ToDoFollowEntitlementView.
var UnfollowedEntitlements = table.Of[UnfollowedEntitlementRow]("unfollowed_entitlements").
	Index("unfollowed_entitlements_since", "since")

// ToDoFollowEntitlementView lists the entitlements that no period follows yet. An item is the account; its cause is the
// event in the account's stream.
var ToDoFollowEntitlementView = ToDoFrom(Usage, "todo_follow_entitlement",
	`select account_id as item, '`+account.StreamPrefix+`' || account_id as stream, since as due_at, cause
	from unfollowed_entitlements`)

// SpendingCapRow is the spending cap that a period follows, and the rate of characters past its plan.
type SpendingCapRow struct {
	Account  string    `col:"account_id,key"`
	Start    time.Time `col:"period_start,key"`
	Amount   *int64    `col:"amount"` // minor units; NULL: there is none
	Currency string    `col:"currency"`
	Unit     int64     `col:"rate_unit"`
	Millis   int64     `col:"rate_millis"`
}

// SpendingCapsView shows the caps of all periods of accounts that have ever had one.
var SpendingCapsView = Show(Usage, table.Of[SpendingCapRow]("spending_caps"))

// UnfollowedCaps is the table behind ToDoFollowSpendingCapView. Its versions are versions of caps.
var UnfollowedCaps = table.Of[UnfollowedEntitlementRow]("unfollowed_spending_caps").
	Index("unfollowed_spending_caps_since", "since")

// ToDoFollowSpendingCapView lists the spending caps that no period follows yet, like ToDoFollowEntitlementView.
var ToDoFollowSpendingCapView = ToDoFrom(Usage, "todo_follow_spending_cap",
	`select account_id as item, '`+account.StreamPrefix+`' || account_id as stream, since as due_at, cause
	from unfollowed_spending_caps`)
