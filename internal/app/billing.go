package app

import (
	"context"
	"slices"
	"time"

	"github.com/recital-tts/recital/commands/alerts"
	commands "github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/readmodel"
	projections "github.com/recital-tts/recital/projections/billing"
	readapi "github.com/recital-tts/recital/readapi/billing"
	addresses "github.com/recital-tts/recital/readapi/notices"
	writeapi "github.com/recital-tts/recital/writeapi/billing"
)

// billingSlice returns the slice of subscriptions, cards, the catalogue of prices and the payment provider's notices.
func billingSlice(core *coreParts, providers *providerParts, shared *sharedParts) slice {
	return slice{
		name:       "billing",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func() (service, error) {
			billing := commands.New(commands.Config{
				Journal: core.journal, Gateway: providers.payments, Keys: core.keys,
				Periods: shared.ledger, Views: readapi.Hints{Models: core.projector},
				Coupon: core.cfg.StripeCoupon, Grace: core.cfg.Dunning, DisputeEndsPlan: core.cfg.DisputeEndsPlan,
				Alert: func(ctx context.Context, o commands.Occasion) error {
					return shared.alerts.Raise(ctx, alerts.Occasion(o))
				},
				Now: core.time.now, Logger: core.log,
				Address: addresses.Addresses{Models: core.projector}.Of, Missed: providers.notices.missed,
			})
			shared.ledger.PriceBy(billing.RateOf)
			core.metrics.expectAlert(alert.ToDoSource(commands.DunningProcess), alert.Unpaid)
			core.metrics.expectAlert(alert.PaymentsSource, alert.Uncollected)
			core.metrics.expectAlert(alert.PaymentsSource, alert.DisputeLost)
			core.metrics.expectAlert(alert.PaymentsSource, alert.Doubled)
			read := readapi.API{Models: core.projector, Keys: core.keys,
				CardForm: core.cfg.cardForm(providers.standIns.sandboxURL())}
			write := writeapi.API{
				Billing: billing, Notices: providers.notices.payments, Analytics: providers.notices.analytics,
				ReadModels: core.projector,
			}
			return service{
				public: slices.Concat(read.Routes(), write.Routes()),
				byPlan: billingToDos(billing),
				bursts: []toDo{{commands.PaymentProcess, readmodel.ToDoPaymentView, byStream(billing.HandleNotice)}},
				jobs: []job{{
					name: "the reconciliation with the payment provider", every: core.cfg.reconcile(), current: true,
					run: reconciling(shared.alerts, core.here(alert.PaymentsSource, alert.Unreconciled), billing.Reconcile),
				}},
				ends: []closing{billing.EndFor},
			}, nil
		},
	}
}

func billingToDos(billing *commands.Billing) []toDo {
	return []toDo{
		{commands.CompleteRequestProcess, readmodel.ToDoCompleteRequestView, byStream(billing.CompleteRequest)},
		{commands.DunningProcess, readmodel.ToDoDunningView, byStream(billing.Lapse)},
		{commands.CollectProcess, readmodel.ToDoCollectView, byStream(billing.Collect)},
		{commands.DisputeProcess, readmodel.ToDoEndDisputedView, byStream(billing.EndDisputed)},
		{commands.OverageProcess, readmodel.ToDoBillOverageView, billing.BillItem},
	}
}

// reconciling returns run with an alert that is open while run fails.
func reconciling(
	raised *alerts.Alerts, condition alert.Condition, run func(context.Context) error,
) func(context.Context) error {
	return func(ctx context.Context) error {
		err := run(ctx)
		switch {
		case err == nil:
			raised.Over(condition)
		case ctx.Err() == nil:
			raised.Holds(condition, time.Time{}, "the log of this instance says why")
		}
		return err
	}
}
