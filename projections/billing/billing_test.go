package billing_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/catalogue"
	"github.com/recital-tts/recital/domain/payment"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
)

const (
	subscriptionRows = `select subscription_id, account_id, number, price_id, plan, status, period_start, period_end,
		cancel_at, scheduled_price, scheduled_plan, scheduled_from,
		pending_price, pending_plan, pending_until, ended_at
		from read_v1.subscriptions where account_id = $1 order by number`
	cardRows    = `select payment_method, brand, last4 from read_v1.cards where account_id = $1`
	invoiceRows = `select invoice_id, number, status, amount_due, amount_paid, currency, page, pdf, created_at
		from read_v1.invoices where account_id = $1 order by invoice_id`
	priceRows = `select price_id, name, plan, amount, currency, overage_millis, overage_unit, on_sale
		from read_v1.prices order by price_id`
	requestDue = `select item, stream, due_at, cause from read_v1.todo_complete_request order by item`
	dunningDue = `select item, stream, due_at, cause from read_v1.todo_dunning order by item`
	disputeDue = `select item, stream, due_at, cause from read_v1.todo_end_disputed order by item`
	paymentDue = `select item, stream, due_at, cause from read_v1.todo_payment order by item`
)

type subscriptionRow struct {
	ID, Account                   string
	Number                        int64
	Price, Plan, Status           string
	Start, End                    time.Time
	CancelAt                      *time.Time
	ScheduledPrice, ScheduledPlan *string
	ScheduledFrom                 *time.Time
	PendingPrice, PendingPlan     *string
	PendingUntil, EndedAt         *time.Time
}

type cardRow struct {
	PaymentMethod string
	Brand, Last4  []byte
}

type invoiceRow struct {
	ID        string
	Number    *string
	Status    string
	Due, Paid int64
	Currency  string
	Page, PDF []byte
	CreatedAt time.Time
}

type dueRow struct {
	Item, Stream string
	Due          time.Time
	Cause        string
}

// terms returns the terms of a subscription at price_<plan> in the n-th month.
func terms(id string, of plan.Type, status string, month int) subscription.Terms {
	return subscription.Terms{
		Subscription: id, Price: "price_" + string(of), Plan: of, Status: status,
		PeriodStart: now.AddDate(0, month, 0), PeriodEnd: now.AddDate(0, month+1, 0), Anchor: now,
	}
}

func shown(t subscription.Terms, number int64) subscriptionRow {
	return subscriptionRow{
		ID: t.Subscription, Account: "a1", Number: number, Price: t.Price, Plan: string(t.Plan), Status: t.Status,
		Start: t.PeriodStart, End: t.PeriodEnd,
	}
}

// The life of a subscription, event by event.
func TestSubscriptionRows(t *testing.T) {
	w := suite.World(t)
	revision := eventlog.NoStream
	happens := func(events ...any) { revision = w.Append(t, "subscription-a1", revision, events...) }
	requireRows := func(rows ...subscriptionRow) {
		t.Helper()
		require.Equal(t, rows, feedtest.Rows[subscriptionRow](t, w, subscriptionRows, "a1"))
	}
	s1 := func(of plan.Type, status string, month int) subscription.Terms {
		return terms("sub_1", of, status, month)
	}

	happens(subscription.Created{Account: "a1", Terms: s1(plan.Indie, "incomplete", 0), At: now})
	requireRows(shown(s1(plan.Indie, "incomplete", 0), 0))

	happens(subscription.Activated{Account: "a1", Terms: s1(plan.Indie, "active", 0), At: now})
	requireRows(shown(s1(plan.Indie, "active", 0), 0))

	happens(subscription.PlanChanged{Account: "a1", Terms: s1(plan.Pro, "active", 0), From: plan.Indie, At: now})
	requireRows(shown(s1(plan.Pro, "active", 0), 0))

	happens(subscription.ChangeScheduled{
		Account: "a1", Subscription: "sub_1", Price: "price_indie", Plan: plan.Indie, EffectiveAt: now.AddDate(0, 1, 0),
		At: now,
	})
	row := shown(s1(plan.Pro, "active", 0), 0)
	row.ScheduledPrice, row.ScheduledPlan, row.ScheduledFrom = new("price_indie"), new("indie"), new(now.AddDate(0, 1, 0))
	requireRows(row)

	happens(subscription.ChangePending{
		Account: "a1", Subscription: "sub_1", Price: "price_premium", Plan: plan.Premium, Invoice: "in_1",
		ExpiresAt: now.Add(23 * time.Hour), At: now,
	})
	awaiting := row
	awaiting.PendingPrice, awaiting.PendingPlan = new("price_premium"), new("premium")
	awaiting.PendingUntil = new(now.Add(23 * time.Hour))
	requireRows(awaiting)

	happens(subscription.PendingChangeEnded{Account: "a1", Subscription: "sub_1", At: now})
	requireRows(row)

	happens(subscription.Renewed{Account: "a1", Terms: s1(plan.Indie, "active", 1), At: now},
		subscription.ScheduledChangeDropped{Account: "a1", Subscription: "sub_1", At: now})
	requireRows(shown(s1(plan.Indie, "active", 1), 0))

	happens(subscription.CancellationScheduled{
		Account: "a1", Subscription: "sub_1", CancelAt: now.AddDate(0, 2, 0), At: now,
	})
	row = shown(s1(plan.Indie, "active", 1), 0)
	row.CancelAt = new(now.AddDate(0, 2, 0))
	requireRows(row)

	happens(subscription.CancellationWithdrawn{Account: "a1", Subscription: "sub_1", At: now})
	requireRows(shown(s1(plan.Indie, "active", 1), 0))

	happens(subscription.FellDue{Account: "a1", Terms: s1(plan.Indie, "past_due", 2), GraceEnds: now, At: now})
	requireRows(shown(s1(plan.Indie, "past_due", 2), 0))

	happens(subscription.CancellationScheduled{Account: "a1", Subscription: "sub_1", CancelAt: now, At: now},
		subscription.ChangePending{Account: "a1", Subscription: "sub_1", Price: "price_pro", Plan: plan.Pro,
			Invoice: "in_1", ExpiresAt: now, At: now},
		subscription.ChangeScheduled{Account: "a1", Subscription: "sub_1", Price: "price_indie", Plan: plan.Indie,
			EffectiveAt: now, At: now})
	happens(subscription.Ended{
		Account: "a1", Terms: s1(plan.Indie, "canceled", 2), EndedAt: now.AddDate(0, 2, 3), At: now,
	})
	ended := shown(s1(plan.Indie, "canceled", 2), 0)
	ended.EndedAt = new(now.AddDate(0, 2, 3))
	requireRows(ended)

	// another subscription leaves the first unchanged
	happens(subscription.Created{Account: "a1", Terms: terms("sub_2", plan.Pro, "active", 3), At: now})
	requireRows(ended, shown(terms("sub_2", plan.Pro, "active", 3), int64(revision)))
	require.Empty(t, feedtest.Rows[subscriptionRow](t, w, subscriptionRows, "a2"))
}

func TestASubscriptionThatIsPaidAgainHasNotEnded(t *testing.T) {
	w := suite.World(t)
	w.Write(t, "subscription-a1",
		subscription.Created{Account: "a1", Terms: terms("sub_1", plan.Pro, "active", 0), At: now},
		subscription.Ended{Account: "a1", Terms: terms("sub_1", plan.Pro, "unpaid", 1), EndedAt: now, At: now},
		subscription.Activated{Account: "a1", Terms: terms("sub_1", plan.Pro, "active", 1), At: now})
	require.Equal(t, []subscriptionRow{shown(terms("sub_1", plan.Pro, "active", 1), 0)},
		feedtest.Rows[subscriptionRow](t, w, subscriptionRows, "a1"))
}

func TestCardsInvoicesAndCustomers(t *testing.T) {
	w := suite.World(t)
	invoice := subscription.InvoiceRecorded{
		Account: "a1", Invoice: "in_1", Subscription: "sub_1", Status: "open", AmountDue: 1000, Currency: "usd",
		CreatedAt: now, At: now,
	}
	paid := invoice
	paid.Number, paid.Status, paid.AmountPaid, paid.Page, paid.PDF = "R-1", "paid", 1000, []byte("sealed page"),
		[]byte("sealed pdf")
	revision := w.Append(t, "subscription-a1", eventlog.NoStream,
		subscription.CustomerCreated{Account: "a1", Customer: "cus_1", At: now},
		subscription.CardChanged{
			Account: "a1", PaymentMethod: "pm_1", Brand: []byte("sealed brand"), Last4: []byte("sealed digits"), At: now,
		},
		invoice)
	require.Equal(t, []cardRow{{"pm_1", []byte("sealed brand"), []byte("sealed digits")}},
		feedtest.Rows[cardRow](t, w, cardRows, "a1"))
	require.Equal(t, []invoiceRow{{"in_1", nil, "open", 1000, 0, "usd", nil, nil, now}},
		feedtest.Rows[invoiceRow](t, w, invoiceRows, "a1"))
	require.Equal(t, []struct{ Account string }{{"a1"}},
		feedtest.Rows[struct{ Account string }](t, w, `select account_id from read_v1.customers where customer_id = 'cus_1'`))

	w.Append(t, "subscription-a1", revision, paid, subscription.CardChanged{Account: "a1", At: now})
	require.Empty(t, feedtest.Rows[cardRow](t, w, cardRows, "a1"), "there is no card any more")
	require.Equal(t, []invoiceRow{{"in_1", new("R-1"), "paid", 1000, 1000, "usd", paid.Page, paid.PDF, now}},
		feedtest.Rows[invoiceRow](t, w, invoiceRows, "a1"))
}

func TestPrices(t *testing.T) {
	type row struct {
		ID, Name, Plan string
		Amount         int64
		Currency       string
		Millis, Unit   int64
		OnSale         bool
	}
	w := suite.World(t)
	price := catalogue.Price{
		ID: "p1", Name: "Indie", Plan: plan.Indie, Amount: 1000, Currency: "usd", OverageMillis: 5000, OverageUnit: 1000,
	}
	listed := catalogue.PriceListed{Price: price, At: now}
	dearer := listed
	dearer.Amount = 1200
	revision := w.Append(t, catalogue.Stream, eventlog.NoStream, listed)
	require.Equal(t, []row{{"p1", "Indie", "indie", 1000, "usd", 5000, 1000, true}}, feedtest.Rows[row](t, w, priceRows))
	revision = w.Append(t, catalogue.Stream, revision, dearer, catalogue.PriceWithdrawn{ID: "p1", At: now})
	require.Equal(t, []row{{"p1", "Indie", "indie", 1200, "usd", 5000, 1000, false}}, feedtest.Rows[row](t, w, priceRows),
		"who has it keeps it")
	w.Append(t, catalogue.Stream, revision, listed)
	require.Equal(t, []row{{"p1", "Indie", "indie", 1000, "usd", 5000, 1000, true}}, feedtest.Rows[row](t, w, priceRows))
}

// idOf returns the id of the event at a revision.
func idOf(t *testing.T, w *feedtest.World, stream string, revision eventlog.Revision) (id uuid.UUID) {
	t.Helper()
	for event, err := range w.Log.ReadStream(t.Context(), stream, 0) {
		require.NoError(t, err)
		if event.Revision == uint64(revision) {
			id = event.ID
		}
	}
	return id
}

func TestARequestIsOnTheListUntilItHasAnOutcome(t *testing.T) {
	for name, outcome := range map[string]any{
		"agreed":  subscription.Agreed{Account: "a1", Request: "r1", At: now},
		"refused": subscription.Refused{Account: "a1", Request: "r1", Reason: subscription.Declined, At: now},
	} {
		t.Run(name, func(t *testing.T) {
			w := suite.World(t)
			requested := func(id string) subscription.Requested {
				return subscription.Requested{Account: "a1", Request: id, Kind: subscription.Subscribe, At: now}
			}
			revision := w.Append(t, "subscription-a1", eventlog.NoStream, requested("r1"))
			cause := idOf(t, w, "subscription-a1", revision).String()
			require.Equal(t, []dueRow{{"r1", "subscription-a1", now.Add(30 * time.Second), cause}},
				feedtest.Rows[dueRow](t, w, requestDue))
			revision = w.Append(t, "subscription-a1", revision, requested("r2"))
			w.Append(t, "subscription-a1", revision, outcome)
			require.Equal(t, "r2", feedtest.Rows[dueRow](t, w, requestDue)[0].Item)
		})
	}
}

func TestALostDisputeThatEndsThePlanIsOnTheListUntilItHas(t *testing.T) {
	w := suite.World(t)
	lost := subscription.InvoiceDisputed{Account: "a1", Invoice: "in_1", Disputed: true, Dispute: "lost", At: now}
	revision := w.Append(t, "subscription-a1", eventlog.NoStream, lost)
	require.Empty(t, feedtest.Rows[dueRow](t, w, disputeDue))
	lost.EndsPlan = true
	revision = w.Append(t, "subscription-a1", revision, lost)
	cause := idOf(t, w, "subscription-a1", revision).String()
	require.Equal(t, []dueRow{{cause, "subscription-a1", now, cause}}, feedtest.Rows[dueRow](t, w, disputeDue))
	w.Append(t, "subscription-a1", revision, subscription.Agreed{Account: "a1", Request: cause, At: now})
	require.Empty(t, feedtest.Rows[dueRow](t, w, disputeDue))
}

func TestASubscriptionInArrearsIsOnTheListUntilThatHasAnEnd(t *testing.T) {
	due := now.AddDate(0, 0, 14)
	for name, end := range map[string]any{
		"it is paid":    subscription.Activated{Account: "a1", Terms: terms("sub_1", plan.Indie, "active", 1), At: now},
		"it is renewed": subscription.Renewed{Account: "a1", Terms: terms("sub_1", plan.Indie, "active", 2), At: now},
		"it has ended": subscription.Ended{
			Account: "a1", Terms: terms("sub_1", plan.Indie, "canceled", 1), EndedAt: now, At: now,
		},
		"it has lapsed": subscription.Lapsed{Account: "a1", Subscription: "sub_1", At: now},
	} {
		t.Run(name, func(t *testing.T) {
			w := suite.World(t)
			w.Write(t, "subscription-a1", subscription.Created{
				Account: "a1", Terms: terms("sub_1", plan.Indie, "active", 0), At: now,
			})
			revision := w.Append(t, "subscription-a1", 0, subscription.FellDue{
				Account: "a1", Terms: terms("sub_1", plan.Indie, "past_due", 1), GraceEnds: due, At: now,
			})
			cause := idOf(t, w, "subscription-a1", revision).String()
			require.Equal(t, []dueRow{{"sub_1", "subscription-a1", due, cause}}, feedtest.Rows[dueRow](t, w, dunningDue))
			revision = w.Append(t, "subscription-a1", revision,
				subscription.Renewed{Account: "a1", Terms: terms("sub_1", plan.Indie, "past_due", 2), At: now})
			require.Len(t, feedtest.Rows[dueRow](t, w, dunningDue), 1, "another period is no payment")
			w.Append(t, "subscription-a1", revision, end)
			require.Empty(t, feedtest.Rows[dueRow](t, w, dunningDue))
		})
	}
}

func TestANoticeIsOnTheListUntilItIsHandled(t *testing.T) {
	w := suite.World(t)
	received := payment.Received{
		ID: "evt_1", Kind: "invoice.paid", Object: "in_1", Customer: "cus_1", CreatedAt: now.Add(-time.Minute), At: now,
	}
	revision := w.Append(t, "payment-evt_1", eventlog.NoStream, received)
	require.Equal(t, []dueRow{{"evt_1", "payment-evt_1", now, idOf(t, w, "payment-evt_1", revision).String()}},
		feedtest.Rows[dueRow](t, w, paymentDue))

	ofAnalytics := received
	ofAnalytics.ID, ofAnalytics.Analytics = "evt_2", true
	w.Write(t, "payment-analytics-evt_2", ofAnalytics)
	require.Len(t, feedtest.Rows[dueRow](t, w, paymentDue), 1, "nothing follows from analytics")

	w.Append(t, "payment-evt_1", revision, payment.Handled{ID: "evt_1", Account: "a1", At: now})
	require.Empty(t, feedtest.Rows[dueRow](t, w, paymentDue))
}
