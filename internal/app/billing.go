package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/alerts"
	commands "github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo"
	projections "github.com/recital-tts/recital/projections/billing"
	readapi "github.com/recital-tts/recital/readapi/billing"
	writeapi "github.com/recital-tts/recital/writeapi/billing"
)

// billingSlice is that of money: subscriptions and cards, the catalogue of prices, and the payment provider's notices.
func billingSlice() slice {
	return slice{
		name:       "billing",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func(p *parts) (service, error) {
			billing, err := commands.New(commands.Config{
				Journal: p.journal, Gateway: p.payments, Keys: p.keys, Periods: periods{p.ledger}, Views: readapi.Hints{Models: p.projector},
				Alert: p.subscriptionLapsed, Now: time.Now, Logger: p.log, Coupon: p.cfg.StripeCoupon, Grace: p.cfg.Dunning,
			})
			if err != nil {
				return service{}, err
			}
			p.metrics.expectAlert(alerts.ToDoSource(commands.DunningProcess), alert.Unpaid)
			read := readapi.API{Models: p.projector, Keys: p.keys}
			write := writeapi.API{Billing: billing, Notices: p.notices.payments, Analytics: p.notices.analytics, ReadModels: p.projector}
			return service{
				public: slices.Concat(read.Routes(), write.Routes()),
				toDos:  billingToDos(billing),
				jobs:   []job{{name: "the reconciliation with the payment provider", every: p.cfg.reconcile(), current: true, run: p.reconciling(billing.Reconcile)}},
				ends:   []closing{billing.EndFor},
				checks: p.paymentChecks(),
			}, nil
		},
	}
}

func billingToDos(billing *commands.Billing) []toDo {
	return []toDo{
		{commands.CompleteRequestProcess, readmodel.ToDoCompleteRequestView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
			return billing.CompleteRequest(ctx, item.Stream, item.Cause)
		}},
		{commands.DunningProcess, readmodel.ToDoDunningView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
			return billing.Lapse(ctx, item.Stream, item.Cause)
		}},
		{commands.PaymentProcess, readmodel.ToDoPaymentView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
			return billing.HandleNotice(ctx, item.Stream, item.Cause)
		}},
		{commands.OverageProcess, readmodel.ToDoBillOverageView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
			return billing.BillOverage(ctx, item.Stream, item.Cause)
		}},
	}
}

// subscriptionLapsed raises the alert of a subscription whose plan was withdrawn.
func (p *parts) subscriptionLapsed(ctx context.Context, l commands.Lapse) error {
	return p.alerts.Raise(ctx, alerts.Occasion{
		Source: alerts.ToDoSource(commands.DunningProcess), Subject: l.Account, Reason: alert.Unpaid, Cause: l.Cause, At: l.At,
		Detail: fmt.Sprintf("the subscription %s was not paid in time, and its plan is withdrawn", l.Subscription),
	})
}

// periods closes periods of the ledger.
type periods struct{ ledger *ledger.Ledger }

// ClosePeriod implements commands.Periods.
func (p periods) ClosePeriod(ctx context.Context, stream string, cause uuid.UUID) (commands.Overage, error) {
	closed, err := p.ledger.ClosePeriod(ctx, stream, cause)
	return commands.Overage{
		Account: closed.Account, Plan: closed.Plan, Start: closed.Start, End: closed.End, Characters: closed.Overage, ClosedAt: closed.ClosedAt,
		Billed: closed.Billed, Position: closed.Position,
	}, err
}

// OverageBilled implements commands.Periods.
func (p periods) OverageBilled(ctx context.Context, stream string, b commands.Billed, cause uuid.UUID) (eventlog.Position, error) {
	return p.ledger.OverageBilled(ctx, stream, ledger.Bill(b), cause)
}

// reconciling raises an alert while reconciliation fails.
func (p *parts) reconciling(run func(context.Context) error) func(context.Context) error {
	condition := p.here(alert.PaymentsSource, alert.Unreconciled)
	return func(ctx context.Context) error {
		err := run(ctx)
		switch {
		case err == nil:
			p.alerts.Over(condition)
		case ctx.Err() == nil:
			p.alerts.Holds(condition, time.Time{}, "the log of this instance says why")
		}
		return err
	}
}
