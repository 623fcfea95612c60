// Package billing manages subscriptions, cards and the catalogue of prices, and handles the payment provider's notices.
package billing

import (
	"slices"

	"github.com/recital-tts/recital/domain/catalogue"
	"github.com/recital-tts/recital/domain/payment"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events returns the event types of subscriptions, notices and the catalogue.
func Events() []eventlog.Type {
	return slices.Concat(
		eventlog.In(subscription.StreamPrefix,
			eventlog.Define[subscription.Requested]("subscription-change-requested", 1),
			eventlog.Define[subscription.Agreed]("subscription-change-agreed", 1),
			eventlog.Define[subscription.Refused]("subscription-change-refused", 1),
			eventlog.Define[subscription.CustomerCreated]("subscription-customer-created", 1),
			eventlog.Define[subscription.CustomerDeleted]("subscription-customer-deleted", 1),
			eventlog.Define[subscription.Created]("subscription-created", 1),
			eventlog.Define[subscription.Activated]("subscription-activated", 1),
			eventlog.Define[subscription.Renewed]("subscription-renewed", 1),
			eventlog.Define[subscription.PlanChanged]("subscription-plan-changed", 1),
			eventlog.Define[subscription.ChangeScheduled]("subscription-change-scheduled", 1),
			eventlog.Define[subscription.ScheduledChangeDropped]("subscription-scheduled-change-dropped", 1),
			eventlog.Define[subscription.ChangePending]("subscription-change-pending", 1),
			eventlog.Define[subscription.PendingChangeEnded]("subscription-pending-change-ended", 1),
			eventlog.Define[subscription.CancellationScheduled]("subscription-cancellation-scheduled", 1),
			eventlog.Define[subscription.CancellationWithdrawn]("subscription-cancellation-withdrawn", 1),
			eventlog.Define[subscription.FellDue]("subscription-past-due", 1),
			eventlog.Define[subscription.Lapsed]("subscription-lapsed", 1),
			eventlog.Define[subscription.Ended]("subscription-ended", 1),
			eventlog.Define[subscription.CardChanged]("subscription-card-changed", 1),
			eventlog.Define[subscription.InvoiceRecorded]("subscription-invoice-recorded", 1),
			eventlog.Define[subscription.PaymentFailed]("subscription-payment-failed", 1),
			eventlog.Define[subscription.InvoiceRefunded]("subscription-invoice-refunded", 1),
			eventlog.Define[subscription.InvoiceDisputed]("subscription-invoice-disputed", 1),
			eventlog.Define[subscription.Collected]("subscription-debts-collected", 1),
			eventlog.Define[subscription.Lost]("subscription-loss-recorded", 1),
			eventlog.Define[subscription.Entitled]("subscription-entitled", 1),
			eventlog.Define[subscription.SnapshotTaken]("subscription-snapshot-taken", 1),
		),
		eventlog.In(payment.StreamPrefix,
			eventlog.Define[payment.Received]("payment-notice-received", 1),
			eventlog.Define[payment.Handled]("payment-notice-handled", 1),
			eventlog.Define[payment.Reconciled]("payment-reconciled", 1),
		),
		eventlog.In(catalogue.Stream,
			eventlog.Define[catalogue.PriceListed]("price-listed", 1),
			eventlog.Define[catalogue.PriceWithdrawn]("price-withdrawn", 1),
		),
	)
}
