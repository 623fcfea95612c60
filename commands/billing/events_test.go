package billing_test

import (
	"testing"
	"time"

	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/catalogue"
	"github.com/recital-tts/recital/domain/payment"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	const request = "0192f0c1-2345-7abc-8def-0123456789ab"
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	month := noon.AddDate(0, 1, 0)
	terms := subscription.Terms{Subscription: "sub_1", Price: "price_pro", Plan: plan.Pro, Status: "active",
		PeriodStart: noon, PeriodEnd: month, Anchor: noon}
	entitlement := plan.Entitlement{Plan: plan.Pro, Start: noon, End: month, Next: plan.Indie, Anchor: noon}
	requested := subscription.Requested{
		Account: "a1", Request: request, Kind: subscription.ChangePlan, Price: "price_indie", Plan: plan.Indie,
		Downgrade: true, Subscription: "sub_1",
		PaymentMethod: "pm_1", Coupon: "WELCOME", Replaces: "in_1",
		Repetition: domain.Repetition{Key: "9f86d081", Content: "c0ffee"}, At: noon,
	}
	first := subscription.First{Invoice: "in_1", Amount: 3920, Currency: "usd", Discount: "Welcome",
		Reduces: "20 % off for 3 months"}
	price := catalogue.Price{ID: "price_pro", Name: "Pro", Plan: plan.Pro, Amount: 4900, Currency: "usd",
		OverageMillis: 4500, OverageUnit: 1000}
	eventtest.Golden(t, billing.Events(),
		eventtest.Of("subscription-change-requested", 1, requested),
		eventtest.Of("subscription-change-requested", 1, subscription.Requested{Account: "a1", Request: request,
			Kind: subscription.Cancel, At: noon}).As("cancel"),
		eventtest.Of("subscription-change-agreed", 1, subscription.Agreed{Account: "a1", Request: request, Object: "sub_1",
			EffectiveAt: month, At: noon}),
		eventtest.Of("subscription-change-agreed", 1, subscription.Agreed{Account: "a1", Request: request, Object: "sub_1",
			First: &first, At: noon}).As("subscribe"),
		eventtest.Of("subscription-change-refused", 1, subscription.Refused{Account: "a1", Request: request,
			Reason: subscription.Declined, Decline: "insufficient_funds", At: noon}),
		eventtest.Of("subscription-change-refused", 1, subscription.Refused{Account: "a1", Request: request,
			Reason: subscription.Unconfirmed, Decline: "authentication_required", Invoice: "in_1", At: noon}).As("unconfirmed"),
		eventtest.Of("subscription-customer-created", 1, subscription.CustomerCreated{Account: "a1", Customer: "cus_1",
			At: noon}),
		eventtest.Of("subscription-customer-deleted", 1, subscription.CustomerDeleted{Account: "a1", Customer: "cus_1",
			At: noon}),
		eventtest.Of("subscription-created", 1, subscription.Created{Account: "a1", Terms: terms, At: noon}),
		eventtest.Of("subscription-activated", 1, subscription.Activated{Account: "a1", Terms: terms, At: noon}),
		eventtest.Of("subscription-renewed", 1, subscription.Renewed{Account: "a1", Terms: terms, At: noon}),
		eventtest.Of("subscription-plan-changed", 1, subscription.PlanChanged{Account: "a1", Terms: terms, From: plan.Indie,
			At: noon}),
		eventtest.Of("subscription-change-scheduled", 1, subscription.ChangeScheduled{
			Account: "a1", Subscription: "sub_1", Price: "price_indie", Plan: plan.Indie, EffectiveAt: month, At: noon,
		}),
		eventtest.Of("subscription-scheduled-change-dropped", 1, subscription.ScheduledChangeDropped{Account: "a1",
			Subscription: "sub_1", At: noon}),
		eventtest.Of("subscription-change-pending", 1, subscription.ChangePending{
			Account: "a1", Subscription: "sub_1", Price: "price_premium", Plan: plan.Premium, Invoice: "in_2",
			ExpiresAt: month, At: noon,
		}),
		eventtest.Of("subscription-pending-change-ended", 1, subscription.PendingChangeEnded{Account: "a1",
			Subscription: "sub_1", Made: true, At: noon}),
		eventtest.Of("subscription-cancellation-scheduled", 1, subscription.CancellationScheduled{Account: "a1",
			Subscription: "sub_1", CancelAt: month, At: noon}),
		eventtest.Of("subscription-cancellation-withdrawn", 1, subscription.CancellationWithdrawn{Account: "a1",
			Subscription: "sub_1", At: noon}),
		eventtest.Of("subscription-past-due", 1, subscription.FellDue{Account: "a1", Terms: terms,
			GraceEnds: noon.AddDate(0, 0, 14), At: noon}),
		eventtest.Of("subscription-lapsed", 1, subscription.Lapsed{Account: "a1", Subscription: "sub_1", At: noon}),
		eventtest.Of("subscription-ended", 1, subscription.Ended{Account: "a1", Terms: terms, EndedAt: noon, At: month}),
		eventtest.Of("subscription-card-changed", 1, subscription.CardChanged{
			Account: "a1", PaymentMethod: "pm_1", Brand: []byte("\x01brand"), Last4: []byte("\x01last4"), At: noon,
		}),
		eventtest.Of("subscription-invoice-recorded", 1, subscription.InvoiceRecorded{
			Account: "a1", Invoice: "in_1", Subscription: "sub_1", Number: "R-0001", Status: "paid", AmountDue: 4900,
			AmountPaid: 4900, Currency: "usd",
			Page: []byte("\x01page"), PDF: []byte("\x01pdf"), CreatedAt: noon, At: noon,
		}),
		eventtest.Of("subscription-payment-failed", 1, subscription.PaymentFailed{Account: "a1", Invoice: "in_1", Attempts: 2,
			At: noon}),
		eventtest.Of("subscription-invoice-refunded", 1, subscription.InvoiceRefunded{Account: "a1", Invoice: "in_1",
			Refunded: 4900, Currency: "usd", At: noon}),
		eventtest.Of("subscription-invoice-disputed", 1, subscription.InvoiceDisputed{Account: "a1", Invoice: "in_1",
			Disputed: true, Dispute: "lost", Amount: 4900, Currency: "usd", EndsPlan: true, At: noon}),
		eventtest.Of("subscription-debts-collected", 1, subscription.Collected{Account: "a1", Event: request, At: noon}),
		eventtest.Of("subscription-loss-recorded", 1, subscription.Lost{Account: "a1", Object: "ii_1",
			Reason: subscription.BelowMinimum, Characters: 9000, Amount: 45, Currency: "usd", At: noon}),
		eventtest.Of("subscription-entitled", 1, subscription.Entitled{Account: "a1", Entitlement: entitlement, At: noon}),
		eventtest.Of("subscription-entitled", 1, subscription.Entitled{
			Account: "a1", Entitlement: plan.Entitlement{Plan: plan.Free, Start: noon}, At: noon,
		}).As("free"),
		eventtest.Of("subscription-snapshot-taken", 1, subscription.SnapshotTaken{
			Facts: subscription.Facts{
				Account: "a1", Customer: "cus_1", Open: &requested,
				Answered: []subscription.Answered{{Requested: requested, Object: "sub_1", EffectiveAt: month,
					Reason: subscription.Unconfirmed, Decline: "authentication_required", Invoice: "in_2", First: &first,
					EndedAt: noon}},
				Subscriptions: []subscription.Subscription{{
					Terms: terms, CancelAt: month, Scheduled: &subscription.Change{Price: "price_indie", Plan: plan.Indie,
						EffectiveAt: month},
					Pending:   &subscription.Pending{Price: "price_premium", Plan: plan.Premium, Invoice: "in_2", ExpiresAt: month},
					GraceEnds: month, Lapsed: true, EndedAt: month, Ran: true, Supersedes: true, Superseded: true,
				}},
				Card: &subscription.Card{PaymentMethod: "pm_1", Brand: []byte("\x01brand"), Last4: []byte("\x01last4")},
				Invoices: []subscription.Invoice{{
					ID: "in_1", Subscription: "sub_1", Number: "R-0001", Status: "paid", AmountDue: 4900, AmountPaid: 4900,
					Currency: "usd",
					HasPage:  true, HasPDF: true, CreatedAt: noon, Refunded: 100, Disputed: true,
					Dispute: "open", DisputedSum: 4900, Failures: 2,
				}},
				Entitled: &entitlement, LastPrices: map[plan.Type]string{plan.Pro: "price_pro"}, Bought: true,
				Lost: []string{"ii_1"}, Ending: true,
			}, At: noon,
		}),
		eventtest.Of("payment-notice-received", 1, payment.Received{
			ID: "evt_1", Kind: "customer.subscription.updated", Object: "sub_1", Customer: "cus_1", CreatedAt: noon, At: noon,
		}),
		eventtest.Of("payment-notice-received", 1, payment.Received{ID: "evt_2", Kind: "charge.succeeded", Object: "ch_1",
			Analytics: true, CreatedAt: noon, At: noon}).As("analytics"),
		eventtest.Of("payment-notice-handled", 1, payment.Handled{ID: "evt_1", Account: "a1", At: noon}),
		eventtest.Of("payment-reconciled", 1, payment.Reconciled{Through: noon, Missed: 2, At: noon}),
		eventtest.Of("price-listed", 1, catalogue.PriceListed{Price: price, At: noon}),
		eventtest.Of("price-withdrawn", 1, catalogue.PriceWithdrawn{ID: "price_pro", At: noon}),
	)
}
