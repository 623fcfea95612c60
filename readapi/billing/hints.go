package billing

import (
	"context"
	"time"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/readapi"
)

// Hints are look-ups for the billing of accounts. Their answers may be out of date.
type Hints struct{ Models readapi.Models }

var (
	ofCustomer = readapi.From(readmodel.CustomersView, `where customer_id = $1`, "looking up a customer")

	overdue = readapi.Rows[struct{ Account string }]{
		SQL: `select distinct account_id from ` + readmodel.SubscriptionsView.SQL() + ` where period_end < $1
		and account_id > $2
			and ended_at is null and status in ('active', 'trialing', 'past_due') order by account_id limit 500`,
		Doing: "listing overdue subscriptions", Models: []readmodel.Model{readmodel.Billing},
	}
)

// AccountOf returns the account of a customer, "" if there is none.
func (h Hints) AccountOf(ctx context.Context, customer string) (string, error) {
	found, _, err := ofCustomer.Select(ctx, h.Models, customer)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0].Account, nil
}

// Overdue returns at most 500 accounts with a running subscription whose period was over at a time, in order of id,
// after a given account.
func (h Hints) Overdue(ctx context.Context, at time.Time, after string) (accounts []string, err error) {
	rows, _, err := overdue.Select(ctx, h.Models, at, after)
	for _, row := range rows {
		accounts = append(accounts, row.Account)
	}
	return accounts, err
}
