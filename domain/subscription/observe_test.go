package subscription_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/spec"
	"github.com/recital-tts/recital/domain/subscription"
)

const grace = 14 * 24 * time.Hour

// see is an observation at noon.
func see(seen ...subscription.Observed) subscription.Observe {
	return subscription.Observe{Customer: "c1", Subscriptions: seen, Grace: grace, At: noon}
}

func with(status string, changes ...func(*subscription.Observed)) subscription.Observed {
	seen := subscription.Observed{Terms: terms(status)}
	for _, change := range changes {
		change(&seen)
	}
	return seen
}

func next(seen *subscription.Observed) { seen.PeriodStart, seen.PeriodEnd = month, later }

func at(price string, of plan.Type) func(*subscription.Observed) {
	return func(seen *subscription.Observed) { seen.Price, seen.Plan = price, of }
}

func ending(seen *subscription.Observed) { seen.CancelAtPeriodEnd = true }

func over(at time.Time) func(*subscription.Observed) {
	return func(seen *subscription.Observed) { seen.EndedAt = at }
}

func changing(seen *subscription.Observed) {
	seen.Scheduled = &subscription.Change{Price: "indie", Plan: plan.Indie, EffectiveAt: month}
}

// asking adds a pending change to premium that the card's owner has to confirm.
func asking(seen *subscription.Observed) {
	seen.Pending = &subscription.Pending{Price: "premium", Plan: plan.Premium, Invoice: "i2",
		ExpiresAt: noon.Add(time.Hour)}
}

func entitle(of plan.Type, start, end time.Time, then plan.Type) subscription.Event {
	e := subscription.Entitled{Account: "a1", Entitlement: plan.Entitlement{Plan: of, Start: start, End: end, Next: then},
		At: noon}
	if !end.IsZero() {
		e.Anchor = noon
	}
	return e
}

func free(start time.Time) subscription.Event { return entitle(plan.Free, start, time.Time{}, "") }

// A confirmed upgrade drops a scheduled change, unless that was requested later.
func TestAConfirmedUpgradeSupersedesWhatWasScheduledBefore(t *testing.T) {
	made := with("active", at("premium", plan.Premium), changing)
	for name, c := range map[string]struct {
		looks      []subscription.Observed
		superseded int
	}{
		"scheduled before": {[]subscription.Observed{with("active", changing), with("active", changing, asking), made}, 1},
		"scheduled after":  {[]subscription.Observed{with("active", asking), with("active", asking, changing), made}, 0},
		"it lapses": {[]subscription.Observed{
			with("active", changing), with("active", changing, asking), with("active", changing)}, 0},
		"it was dropped": {[]subscription.Observed{with("active", changing), with("active", changing, asking), made,
			with("active", at("premium", plan.Premium))}, 0},
	} {
		state := subscription.Evolve(subscription.State{}, customer)
		for _, seen := range c.looks {
			decided, err := see(seen).Decide(state)
			require.NoError(t, err, name)
			for _, event := range decided {
				state = subscription.Evolve(state, event)
			}
		}
		require.Len(t, state.Superseded(), c.superseded, name)
	}
}

func TestObserveSubscriptions(t *testing.T) {
	renewed := with("active", next)
	upgraded := with("active", at("premium", plan.Premium))
	changed := with("active", next, at("indie", plan.Indie))
	pastDue := with("past_due", next)
	dueSince := subscription.FellDue{Account: "a1", Terms: pastDue.Terms, GraceEnds: noon.Add(grace), At: noon}
	dueEntitled := entitle(plan.Pro, month, later, plan.Pro)
	lapsed := subscription.Lapsed{Account: "a1", Subscription: "s1", At: noon}
	canceled := with("canceled", over(month))
	early := with("canceled", over(noon.Add(time.Hour)))
	expired := with("incomplete_expired", over(noon))
	unpaid := with("unpaid", next)
	strange := with("active", at("gold", ""))
	withdrawn := subscription.CancellationWithdrawn{Account: "a1", Subscription: "s1", At: noon}
	dropped := subscription.ScheduledChangeDropped{Account: "a1", Subscription: "s1", At: noon}
	end := func(seen subscription.Observed, at time.Time) subscription.Event {
		return subscription.Ended{Account: "a1", Terms: seen.Terms, EndedAt: at, At: noon}
	}
	pending := subscription.ChangePending{Account: "a1", Subscription: "s1", Price: "premium", Plan: plan.Premium,
		Invoice: "i2", ExpiresAt: noon.Add(time.Hour), At: noon}
	lapse := subscription.PendingChangeEnded{Account: "a1", Subscription: "s1", At: noon}
	confirmed := subscription.PendingChangeEnded{Account: "a1", Subscription: "s1", Made: true, At: noon}
	second := with("active")
	second.Subscription = "s2"
	createdAs := func(seen subscription.Observed) subscription.Event {
		return subscription.Created{Account: "a1", Terms: seen.Terms, At: noon}
	}
	spec.Run(t, subscription.Evolve, []row{
		{Name: "one that waits for its payment", Given: events{customer}, When: see(with("incomplete")),
			Then: events{created}},
		{Name: "nothing is new", Given: events{customer, created}, When: see(with("incomplete"))},
		{Name: "it is paid", Given: events{customer, created}, When: see(with("active")), Then: events{activated, entitled}},
		{Name: "nothing is new, either", Given: active, When: see(with("active"))},
		{Name: "it was paid before anybody looked", Given: events{customer}, When: see(with("active")),
			Then: events{createdAs(with("active")), activated, entitled}},
		{Name: "a trial entitles", Given: events{customer, created}, When: see(with("trialing")),
			Then: events{subscription.Activated{Account: "a1", Terms: terms("trialing"), At: noon}, entitled}},
		{Name: "it is never paid", Given: events{customer, created}, When: see(expired), Then: events{end(expired, noon)}},
		{Name: "another period", Given: active, When: see(renewed),
			Then: events{subscription.Renewed{Account: "a1", Terms: renewed.Terms, At: noon},
				entitle(plan.Pro, month, later, plan.Pro)}},
		{Name: "an upgrade", Given: active, When: see(upgraded),
			Then: events{subscription.PlanChanged{Account: "a1", Terms: upgraded.Terms, From: plan.Pro, At: noon},
				entitle(plan.Premium, noon, month, plan.Premium)}},
		{Name: "an upgrade that is to be confirmed changes nothing", Given: active, When: see(with("active", asking)),
			Then: events{pending}},
		{Name: "it is known", Given: and(active, pending), When: see(with("active", asking))},
		{Name: "it lapses", Given: and(active, pending), When: see(with("active")), Then: events{lapse}},
		{Name: "it is confirmed", Given: and(active, pending), When: see(upgraded),
			Then: events{subscription.PlanChanged{Account: "a1", Terms: upgraded.Terms, From: plan.Pro, At: noon}, confirmed,
				entitle(plan.Premium, noon, month, plan.Premium)}},
		{Name: "a downgrade is scheduled", Given: active, When: see(with("active", changing)),
			Then: events{scheduled, entitle(plan.Pro, noon, month, plan.Indie)}},
		{Name: "and dropped", Given: and(active, scheduled, entitle(plan.Pro, noon, month, plan.Indie)),
			When: see(with("active")), Then: events{dropped, entitled}},
		{Name: "or takes effect", Given: and(active, scheduled, entitle(plan.Pro, noon, month, plan.Indie)),
			When: see(changed), Then: events{
				subscription.PlanChanged{Account: "a1", Terms: changed.Terms, From: plan.Pro, At: noon}, dropped,
				entitle(plan.Indie, month, later, plan.Indie),
			}},
		{Name: "a cancellation", Given: active, When: see(with("active", ending)),
			Then: events{cancelled, entitle(plan.Pro, noon, month, plan.Free)}},
		{Name: "is withdrawn", Given: and(active, cancelled, entitle(plan.Pro, noon, month, plan.Free)),
			When: see(with("active")), Then: events{withdrawn, entitled}},
		{Name: "it has ended as was foreseen, to within a second",
			Given: and(active, cancelled, entitle(plan.Pro, noon, month, plan.Free)),
			When:  see(with("canceled", over(month.Add(time.Second)))), Then: events{end(canceled, month.Add(time.Second)),
				free(month)}},
		{Name: "it has ended early", Given: active, When: see(early),
			Then: events{end(early, noon.Add(time.Hour)), free(noon.Add(time.Hour))}},
		{Name: "a payment is missing", Given: active, When: see(pastDue), Then: events{dueSince, dueEntitled}},
		{Name: "it is made up for", Given: and(active, dueSince, dueEntitled), When: see(with("active", next)),
			Then: events{subscription.Activated{Account: "a1", Terms: renewed.Terms, At: noon}}},
		{Name: "after the plan was withdrawn", Given: and(active, dueSince, dueEntitled, lapsed, free(noon)),
			When: see(renewed),
			Then: events{subscription.Activated{Account: "a1", Terms: renewed.Terms, At: noon}, dueEntitled}},
		{Name: "looking does not bring a plan back", Given: and(active, dueSince, dueEntitled, lapsed, free(noon)),
			When: see(pastDue)},
		{Name: "it is never made up for", Given: and(active, dueSince, dueEntitled), When: see(unpaid),
			Then: events{end(unpaid, noon), free(month)}},
		{Name: "nor looked at twice", Given: and(active, dueSince, dueEntitled, end(unpaid, noon), free(month)),
			When: see(unpaid)},
		{Name: "or late", Given: and(active, end(unpaid, noon), free(noon)), When: see(renewed),
			Then: events{subscription.Activated{Account: "a1", Terms: renewed.Terms, At: noon},
				entitle(plan.Pro, month, later, plan.Pro)}},
		{Name: "a price that no plan has entitles to nothing", Given: active, When: see(strange),
			Then: events{subscription.PlanChanged{Account: "a1", Terms: strange.Terms, From: plan.Pro, At: noon}, free(noon)}},
		{Name: "the newest one counts", Given: and(active, ended, free(month)), When: see(second, canceled),
			Then: events{createdAs(second), subscription.Activated{Account: "a1", Terms: second.Terms, At: noon}, entitled}},
		{Name: "another customer is another account", Given: active, When: subscription.Observe{Customer: "c2", At: noon}},
		{Name: "the customer is forgotten", Given: active, When: subscription.Observe{Customer: "c1", Deleted: true,
			At: noon}, Then: events{
			end(with("canceled"), noon), subscription.CustomerDeleted{Account: "a1", Customer: "c1", At: noon}, free(noon),
		}},
	})
}

func TestObserveCardsAndInvoices(t *testing.T) {
	card := subscription.Card{PaymentMethod: "pm_1", Brand: []byte{1}, Last4: []byte{2}}
	renumbered := card
	renumbered.Last4 = []byte{3}
	changed := func(c subscription.Card) subscription.Event {
		return subscription.CardChanged{Account: "a1", PaymentMethod: c.PaymentMethod, Brand: c.Brand, Last4: c.Last4,
			At: noon}
	}
	paid := subscription.Billed{
		ID: "i1", Subscription: "s1", Number: "R-1", Status: "paid", AmountDue: 4900, AmountPaid: 4900, Attempts: 1,
		Currency: "usd", CreatedAt: noon, Page: []byte{1}, PDF: []byte{2},
	}
	open := paid
	open.Status, open.AmountPaid, open.Attempts = "open", 0, 0
	failed, twice, elsewhere, refunded, disputed := open, open, paid, paid, paid
	failed.Attempts, twice.Attempts, refunded.Refunded, elsewhere.Page = 1, 2, 100, []byte{9}
	disputed.Disputed, disputed.Dispute, disputed.DisputedSum = true, "open", 4900
	won := disputed
	won.Disputed, won.Dispute = false, "won"
	disputes := func(disputed bool, how string) subscription.Event {
		return subscription.InvoiceDisputed{Account: "a1", Invoice: "i1", Disputed: disputed, Dispute: how, Amount: 4900,
			Currency: "usd", At: noon}
	}
	lost := disputed
	lost.Dispute = "lost"
	ends := disputes(true, "lost").(subscription.InvoiceDisputed)
	ends.EndsPlan = true
	rule := func(seen subscription.Billed) subscription.Observe {
		return subscription.Observe{Customer: "c1", Invoices: []subscription.Billed{seen}, EndDisputed: true, At: noon}
	}
	recorded := func(b subscription.Billed) subscription.Event {
		return subscription.InvoiceRecorded{
			Account: "a1", Invoice: "i1", Subscription: b.Subscription, Number: b.Number, Status: b.Status,
			AmountDue: b.AmountDue, AmountPaid: b.AmountPaid,
			Currency: b.Currency, Page: b.Page, PDF: b.PDF, CreatedAt: b.CreatedAt, At: noon,
		}
	}
	failure := func(n int64) subscription.Event {
		return subscription.PaymentFailed{Account: "a1", Invoice: "i1", Attempts: n, At: noon}
	}
	look := func(c *subscription.Card, invoices ...subscription.Billed) subscription.Observe {
		return subscription.Observe{Customer: "c1", Card: c, Invoices: invoices, At: noon}
	}
	spec.Run(t, subscription.Evolve, []row{
		{Name: "a card", Given: events{customer}, When: look(&card), Then: events{changed(card)}},
		{Name: "the same card", Given: events{customer, changed(card)}, When: look(&card)},
		{Name: "the same with another number", Given: events{customer, changed(card)}, When: look(&renumbered),
			Then: events{changed(renumbered)}},
		{Name: "no card any more", Given: events{customer, changed(card)}, When: look(nil),
			Then: events{changed(subscription.Card{})}},
		{Name: "none as before", Given: events{customer, changed(card), changed(subscription.Card{})}, When: look(nil)},
		{Name: "a loss that ends the plan", Given: events{customer, recorded(paid), disputes(true, "open")},
			When: rule(lost), Then: events{ends}},
		{Name: "a dispute that ends no plan", Given: events{customer, recorded(paid)}, When: rule(disputed),
			Then: events{disputes(true, "open")}},
		{Name: "a loss that is known ends no plan later", Given: events{customer, recorded(paid), disputes(true, "lost")},
			When: rule(lost)},
		{Name: "an invoice", Given: events{customer}, When: look(nil, paid), Then: events{recorded(paid)}},
		{Name: "the same invoice", Given: events{customer, recorded(paid)}, When: look(nil, paid)},
		{Name: "whose page has another address", Given: events{customer, recorded(paid)}, When: look(nil, elsewhere)},
		{Name: "an invoice is paid", Given: events{customer, recorded(open)}, When: look(nil, paid),
			Then: events{recorded(paid)}},
		{Name: "or not", Given: events{customer, recorded(open)}, When: look(nil, failed), Then: events{failure(1)}},
		{Name: "again", Given: events{customer, recorded(open), failure(1)}, When: look(nil, twice),
			Then: events{failure(2)}},
		{Name: "once", Given: events{customer, recorded(open), failure(2)}, When: look(nil, twice)},
		{Name: "it is paid back", Given: events{customer, recorded(paid)}, When: look(nil, refunded),
			Then: events{subscription.InvoiceRefunded{Account: "a1", Invoice: "i1", Refunded: 100, Currency: "usd", At: noon}}},
		{Name: "it is disputed", Given: events{customer, recorded(paid)}, When: look(nil, disputed),
			Then: events{disputes(true, "open")}},
		{Name: "once", Given: events{customer, recorded(paid), disputes(true, "open")}, When: look(nil, disputed)},
		{Name: "and not any more", Given: events{customer, recorded(paid), disputes(true, "open")}, When: look(nil, won),
			Then: events{disputes(false, "won")}},
	})
}

func TestLapse(t *testing.T) {
	lapse := subscription.Lapse{At: noon.Add(time.Hour)}
	lapsed := subscription.Lapsed{Account: "a1", Subscription: "s1", At: lapse.At}
	withdrawn := subscription.Entitled{Account: "a1", Entitlement: plan.Entitlement{Plan: plan.Free, Start: lapse.At},
		At: lapse.At}
	spec.Run(t, subscription.Evolve, []row{
		{Name: "the grace is over", Given: and(active, fellDue), When: lapse, Then: events{lapsed, withdrawn}},
		{Name: "once", Given: and(active, fellDue, lapsed, withdrawn), When: lapse},
		{Name: "not before that", Given: and(active, fellDue), When: subscription.Lapse{At: noon}},
		{Name: "not what is paid", Given: active, When: lapse},
		{Name: "not what was paid after all", Given: and(active, fellDue, activated), When: lapse},
		{Name: "not what has ended", Given: and(active, fellDue, ended), When: lapse},
		{Name: "nothing", When: lapse},
	})
}
