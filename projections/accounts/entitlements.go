package accounts

import (
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

type entitlementRow struct {
	Account string     `col:"account_id,key"`
	From    time.Time  `col:"entitled_from,key"`
	Plan    string     `col:"plan"`
	Until   *time.Time `col:"entitled_until"`
	Next    *string    `col:"next_plan"`
	Anchor  *time.Time `col:"anchor"`
}

// dueRow is an entitlement of a subscription that its account has not followed.
type dueRow struct {
	Account  string    `col:"account_id,key"`
	Revision int64     `col:"revision,key"`
	Cause    string    `col:"cause"`
	Since    time.Time `col:"since"`
}

// entitlements are the tables of what accounts are entitled to, and the columns of the account that say so.
type entitlements struct {
	table.Typed[entitlementRow]
	due           table.Typed[dueRow]
	plan          table.Field[accountRow, string]
	from          table.Field[accountRow, time.Time]
	until, anchor table.Field[accountRow, *time.Time]
	next          table.Field[accountRow, *string]
	followed      table.Field[accountRow, int64]
}

func newEntitlements(accounts table.Typed[accountRow]) entitlements {
	return entitlements{
		Typed:    table.Of[entitlementRow]("entitlements"),
		due:      table.Of[dueRow]("due_entitlements").Index("due_entitlements_since", "since"),
		plan:     table.FieldOf(accounts, func(r *accountRow) *string { return &r.Plan }),
		from:     table.FieldOf(accounts, func(r *accountRow) *time.Time { return &r.EntitledFrom }),
		until:    table.FieldOf(accounts, func(r *accountRow) **time.Time { return &r.EntitledUntil }),
		next:     table.FieldOf(accounts, func(r *accountRow) **string { return &r.NextPlan }),
		anchor:   table.FieldOf(accounts, func(r *accountRow) **time.Time { return &r.Anchor }),
		followed: table.FieldOf(accounts, func(r *accountRow) *int64 { return &r.Followed }),
	}
}

// toDoEntitle leaves out what came before the last one that was followed, and what a closed account is given.
const toDoEntitle = `select d.cause as item, 'account-' || d.account_id as stream, d.since as due_at, d.cause from due_entitlements d
	join accounts a on a.account_id = d.account_id and a.followed < d.revision`

func (t entitlements) listed(rows *table.Rows, event eventlog.Decoded, e subscription.Entitled) {
	t.due.Put(rows, dueRow{Account: e.Account, Revision: int64(event.Revision), Cause: event.ID.String(), Since: e.At})
}

func (t entitlements) follow(rows *table.Rows, e account.Entitled) {
	until, next, anchor := timeOrNull(e.End), orNull(string(e.Next)), timeOrNull(e.Anchor)
	t.Put(rows, entitlementRow{Account: e.Account, From: e.Start, Plan: string(e.Plan), Until: until, Next: next, Anchor: anchor})
	t.due.Delete(rows, dueRow{Account: e.Account, Revision: e.Revision})
	of := accountRow{Account: e.Account}
	t.plan.Set(rows, of, string(e.Plan))
	t.from.Set(rows, of, e.Start)
	t.until.Set(rows, of, until)
	t.next.Set(rows, of, next)
	t.anchor.Set(rows, of, anchor)
	t.followed.Set(rows, of, e.Revision)
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
