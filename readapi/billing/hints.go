package billing

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/readapi"
)

// Hints say whose billing to look at. They may be out of date.
type Hints struct{ Models readapi.Models }

type customerRow struct {
	Account string `col:"account_id"`
}

var (
	accountQuery = `select ` + readmodel.Columns[customerRow](readmodel.CustomersView, "") + ` from ` + readmodel.CustomersView.SQL() + ` where customer_id = $1`
	overdueQuery = `select distinct ` + readmodel.Columns[customerRow](readmodel.SubscriptionsView, "") + ` from ` + readmodel.SubscriptionsView.SQL() +
		` where period_end < $1 and account_id > $2 and ended_at is null and status in ('active', 'trialing', 'past_due') order by account_id limit 500`
)

// AccountOf returns the account of a customer, "" if none is shown.
func (h Hints) AccountOf(ctx context.Context, customer string) (string, error) {
	found, err := h.accounts(ctx, readapi.Query{SQL: accountQuery, Arguments: []any{customer}, Doing: "looking a customer up"})
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0], nil
}

// Overdue returns accounts with a subscription that runs and whose period was over at a time, in their order, from the one
// after a given account on; at most 500.
func (h Hints) Overdue(ctx context.Context, at time.Time, after string) ([]string, error) {
	return h.accounts(ctx, readapi.Query{SQL: overdueQuery, Arguments: []any{at, after}, Doing: "listing the subscriptions that are overdue"})
}

func (h Hints) accounts(ctx context.Context, q readapi.Query) (all []string, err error) {
	_, err = readapi.Select(ctx, h.Models, []readmodel.Model{readmodel.Billing}, q, func(row pgx.CollectableRow) error {
		one, err := pgx.RowToStructByPos[customerRow](row)
		all = append(all, one.Account)
		return err
	})
	return all, err
}
