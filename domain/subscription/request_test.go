package subscription_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/catalogue"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/spec"
	"github.com/recital-tts/recital/domain/subscription"
)

type (
	row    = spec.Case[subscription.State, subscription.Event]
	events = []subscription.Event
)

var (
	noon  = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	month = noon.AddDate(0, 1, 0)
	later = month.AddDate(0, 1, 0)
)

// prices is a catalogue in which only "old" is not on sale.
var prices = spec.Fold(catalogue.Evolve, []catalogue.Event{
	listed("indie", plan.Indie, 1000, "usd"), listed("pro", plan.Pro, 4900, "usd"), listed("pro2", plan.Pro, 4900, "usd"),
	listed("premium", plan.Premium, 19900, "usd"), listed("euro", plan.Pro, 5900, "eur"),
	listed("old", plan.Pro, 3900, "usd"),
	catalogue.PriceWithdrawn{ID: "old"},
})

func listed(id string, of plan.Type, amount int64, currency string) catalogue.Event {
	return catalogue.PriceListed{Price: catalogue.Price{ID: id, Plan: of, Amount: amount, Currency: currency}}
}

func terms(status string) subscription.Terms {
	return subscription.Terms{Subscription: "s1", Price: "pro", Plan: plan.Pro, Status: status, PeriodStart: noon,
		PeriodEnd: month, Anchor: noon}
}

var (
	customer  = subscription.CustomerCreated{Account: "a1", Customer: "c1", At: noon}
	created   = subscription.Created{Account: "a1", Terms: terms("incomplete"), At: noon}
	activated = subscription.Activated{Account: "a1", Terms: terms("active"), At: noon}
	entitled  = subscription.Entitled{Account: "a1", Entitlement: plan.Entitlement{Plan: plan.Pro, Start: noon, End: month,
		Next: plan.Pro, Anchor: noon}, At: noon}
	cancelled = subscription.CancellationScheduled{Account: "a1", Subscription: "s1", CancelAt: month, At: noon}
	scheduled = subscription.ChangeScheduled{Account: "a1", Subscription: "s1", Price: "indie", Plan: plan.Indie,
		EffectiveAt: month, At: noon}
	fellDue = subscription.FellDue{Account: "a1", Terms: terms("past_due"), GraceEnds: noon.Add(time.Hour), At: noon}
	ended   = subscription.Ended{Account: "a1", Terms: terms("canceled"), EndedAt: month, At: month}

	active = events{customer, created, activated, entitled}
)

// and returns events with more of them.
func and(past events, more ...subscription.Event) events {
	return append(past[:len(past):len(past)], more...)
}

func ask(kind subscription.Kind, price string) subscription.Request {
	return subscription.Request{Account: "a1", Request: "r1", Kind: kind, Price: price, Catalogue: prices, At: noon}
}

func asked(kind subscription.Kind, change func(*subscription.Requested)) subscription.Event {
	e := subscription.Requested{Account: "a1", Request: "r1", Kind: kind, At: noon}
	change(&e)
	return e
}

func on(e *subscription.Requested) { e.Subscription = "s1" }

func to(price string, of plan.Type) func(*subscription.Requested) {
	return func(e *subscription.Requested) { e.Price, e.Plan = price, of }
}

func TestSubscribe(t *testing.T) {
	first := ask(subscription.Subscribe, "pro")
	first.Coupon = "WELCOME"
	welcomed := asked(subscription.Subscribe, func(e *subscription.Requested) {
		e.Price, e.Plan, e.Coupon = "pro",
			plan.Pro, "WELCOME"
	})
	plain := asked(subscription.Subscribe, to("pro", plan.Pro))
	unpaid := ended
	unpaid.Terms = terms("unpaid")
	spec.Run(t, subscription.Evolve, []row{
		{Name: "the first one has a discount", When: first, Then: events{welcomed}},
		{Name: "one that was never paid does not use it up", Given: events{customer, created}, When: first,
			Then: events{welcomed}},
		{Name: "the next one has none", Given: and(active, ended), When: first, Then: events{plain}},
		{Name: "at a price that is known", When: ask(subscription.Subscribe, "gold"), Refused: domain.NotFound},
		{Name: "and on sale", When: ask(subscription.Subscribe, "old"), Refused: domain.Invalid},
		{Name: "not twice", Given: active, When: ask(subscription.Subscribe, "pro"), Refused: domain.Rejected},
		{Name: "not beside one whose payment is missing", Given: and(active, fellDue),
			When: ask(subscription.Subscribe, "pro"), Refused: domain.Rejected},
		{Name: "but beside one that nobody pays any more", Given: and(active, unpaid),
			When: ask(subscription.Subscribe, "pro"), Then: events{plain}},
		{Name: "not after the account was closed",
			Given:   events{customer, asked(subscription.End, func(*subscription.Requested) {})},
			When:    subscription.Request{Account: "a1", Request: "r2", Kind: subscription.SetupCard},
			Refused: domain.Unauthenticated},
	})
}

func TestChangePlan(t *testing.T) {
	upgrade := asked(subscription.ChangePlan, func(e *subscription.Requested) { on(e); to("premium", plan.Premium)(e) })
	downgrade := asked(subscription.ChangePlan,
		func(e *subscription.Requested) { on(e); to("indie", plan.Indie)(e); e.Downgrade = true })
	change := func(price string) subscription.Request { return ask(subscription.ChangePlan, price) }
	spec.Run(t, subscription.Evolve, []row{
		{Name: "what costs more is an upgrade", Given: active, When: change("premium"), Then: events{upgrade}},
		{Name: "also while another change is scheduled", Given: and(active, scheduled), When: change("premium"),
			Then: events{upgrade}},
		{Name: "what costs less is a downgrade", Given: active, When: change("indie"), Then: events{downgrade}},
		{Name: "the same price", Given: active, When: change("pro"), Refused: domain.Rejected},
		{Name: "the same amount", Given: active, When: change("pro2"), Refused: domain.Rejected},
		{Name: "another currency", Given: active, When: change("euro"), Refused: domain.Rejected},
		{Name: "a price that is not on sale", Given: active, When: change("old"), Refused: domain.Invalid},
		{Name: "a price that never was", Given: active, When: change("gold"), Refused: domain.NotFound},
		{Name: "of a subscription that ends", Given: and(active, cancelled), When: change("premium"),
			Refused: domain.Rejected},
		{Name: "of one whose payment is missing", Given: and(active, fellDue), When: change("premium"),
			Refused: domain.Rejected},
		{Name: "of one that was never paid", Given: events{customer, created}, When: change("premium"),
			Refused: domain.Rejected},
		{Name: "of none", When: change("premium"), Refused: domain.Rejected},
		{Name: "of one that has ended", Given: and(active, ended), When: change("premium"), Refused: domain.Rejected},
	})
}

func TestSmallChanges(t *testing.T) {
	drop, cancel, uncancel := ask(subscription.DropScheduledChange, ""), ask(subscription.Cancel, ""),
		ask(subscription.Uncancel, "")
	withdrawn := subscription.CancellationWithdrawn{Account: "a1", Subscription: "s1", At: noon}
	dropped := subscription.ScheduledChangeDropped{Account: "a1", Subscription: "s1", At: noon}
	replace := subscription.Request{Account: "a1", Request: "r1", Kind: subscription.ReplaceCard, PaymentMethod: "pm_2",
		At: noon}
	spec.Run(t, subscription.Evolve, []row{
		{Name: "a scheduled change is dropped", Given: and(active, scheduled), When: drop,
			Then: events{asked(subscription.DropScheduledChange, on)}},
		{Name: "not if there is none", Given: active, When: drop, Refused: domain.Rejected},
		{Name: "not if it was dropped", Given: and(active, scheduled, dropped), When: drop, Refused: domain.Rejected},
		{Name: "a subscription is cancelled", Given: active, When: cancel, Then: events{asked(subscription.Cancel, on)}},
		{Name: "also one whose payment is missing", Given: and(active, fellDue), When: cancel,
			Then: events{asked(subscription.Cancel, on)}},
		{Name: "not twice", Given: and(active, cancelled), When: cancel, Refused: domain.Rejected},
		{Name: "not if there is none", When: cancel, Refused: domain.Rejected},
		{Name: "a cancellation is withdrawn", Given: and(active, cancelled), When: uncancel,
			Then: events{asked(subscription.Uncancel, on)}},
		{Name: "not twice", Given: and(active, cancelled, withdrawn), When: uncancel, Refused: domain.Rejected},
		{Name: "not what is not cancelled", Given: active, When: uncancel, Refused: domain.Rejected},
		{Name: "not what has ended", Given: and(active, cancelled, ended), When: uncancel, Refused: domain.Rejected},
		{Name: "a card can be registered by everybody", When: ask(subscription.SetupCard, ""),
			Then: events{asked(subscription.SetupCard, func(*subscription.Requested) {})}},
		{Name: "a card is replaced", Given: events{customer}, When: replace,
			Then: events{asked(subscription.ReplaceCard, func(e *subscription.Requested) { e.PaymentMethod = "pm_2" })}},
		{Name: "not by one of somebody who has none", When: replace, Refused: domain.NotFound},
		{Name: "what is unknown", Given: active, When: ask("dance", ""), Refused: domain.Invalid},
	})
}

func TestRepetitions(t *testing.T) {
	keyed := func(kind subscription.Kind, key, content string, at time.Time) subscription.Request {
		return subscription.Request{Account: "a1", Request: "r2", Kind: kind, Price: "pro",
			Repetition: domain.Repetition{Key: key, Content: content}, Catalogue: prices, At: at}
	}
	open := subscription.Requested{Account: "a1", Request: "r1", Kind: subscription.Subscribe, Price: "pro",
		Plan: plan.Pro, At: noon}
	withKey := open
	withKey.Key, withKey.Content = "k", "c"
	agreed := subscription.Agreed{Account: "a1", Request: "r1", Object: "s1", At: noon}
	tomorrow := noon.Add(24 * time.Hour)
	again := subscription.Requested{Account: "a1", Request: "r2", Kind: subscription.Subscribe, Price: "pro",
		Plan: plan.Pro, Repetition: domain.Repetition{Key: "k", Content: "d"}, At: tomorrow}
	for name, c := range map[string]struct {
		given   events
		when    subscription.Request
		repeats string
	}{
		"the same again, while it is open": {events{open}, keyed(subscription.Subscribe, "", "", noon), "r1"},
		"the same key, while it is open":   {events{withKey}, keyed(subscription.Subscribe, "k", "c", noon), "r1"},
		"the same key, after the answer":   {events{withKey, agreed}, keyed(subscription.Subscribe, "k", "c", noon), "r1"},
		"the same key, after a refusal": {events{withKey, subscription.Refused{Request: "r1",
			Reason: subscription.Declined}}, keyed(subscription.Subscribe, "k", "c", noon), "r1"},
		"without a key, after the answer": {events{open, agreed}, keyed(subscription.Subscribe, "", "", noon), ""},
		"another key":                     {events{withKey, agreed}, keyed(subscription.Subscribe, "l", "c", noon), ""},
		"the same key a day later is anew": {events{withKey, agreed}, keyed(subscription.Subscribe, "k", "d", tomorrow),
			""},
		"what was asked with a key, without": {events{withKey}, keyed(subscription.Subscribe, "", "", noon), ""},
	} {
		t.Run(name, func(t *testing.T) {
			id, err := c.when.Repeated(spec.Fold(subscription.Evolve, c.given))
			require.NoError(t, err)
			require.Equal(t, c.repeats, id)
		})
	}
	spec.Run(t, subscription.Evolve, []row{
		{Name: "a repetition decides nothing", Given: events{withKey}, When: keyed(subscription.Subscribe, "k", "c", noon)},
		{Name: "nor after the answer", Given: events{withKey, agreed}, When: keyed(subscription.Subscribe, "k", "c", noon)},
		{Name: "a key is for one content", Given: events{withKey, agreed},
			When: keyed(subscription.Subscribe, "k", "d", noon), Refused: domain.Invalid},
		{Name: "also while it is open", Given: events{withKey}, When: keyed(subscription.Subscribe, "k", "d", noon),
			Refused: domain.Invalid},
		{Name: "another request waits for the open one", Given: events{open},
			When: keyed(subscription.SetupCard, "", "", noon), Refused: domain.Conflict},
		{Name: "with a key, too", Given: events{open}, When: keyed(subscription.Subscribe, "k", "c", noon),
			Refused: domain.Conflict},
		{Name: "a key is forgotten after a day", Given: events{withKey, agreed},
			When: keyed(subscription.Subscribe, "k", "d", tomorrow), Then: events{again}},
		{Name: "a request ends once", Given: events{open}, When: subscription.Agree{Request: "r1", Object: "s1", At: noon},
			Then: events{agreed}},
		{Name: "not a second time", Given: events{open, agreed}, When: subscription.Agree{Request: "r1", Object: "s2",
			At: noon}},
		{Name: "nor in another way", Given: events{open, agreed},
			When: subscription.Refuse{Request: "r1", Reason: subscription.Declined, At: noon}},
		{Name: "a refusal ends it, too", Given: events{open},
			When: subscription.Refuse{Request: "r1", Reason: subscription.Declined, At: noon},
			Then: events{subscription.Refused{Account: "a1", Request: "r1", Reason: subscription.Declined, At: noon}}},
		{Name: "a customer is recorded", When: subscription.RecordCustomer{Account: "a1", Customer: "c1", At: noon},
			Then: events{customer}},
		{Name: "once", Given: events{customer}, When: subscription.RecordCustomer{Account: "a1", Customer: "c1", At: noon}},
		{Name: "and stays", Given: events{customer}, When: subscription.RecordCustomer{Account: "a1", Customer: "c2",
			At: noon}, Refused: domain.Conflict},
	})
}

func TestTheStateRemembersADayOfRequests(t *testing.T) {
	var state subscription.State
	for i := range 300 {
		id, at := time.Duration(i).String(), noon.Add(time.Duration(i)*10*time.Minute)
		state = subscription.Evolve(state, subscription.Requested{Account: "a1", Request: id, Kind: subscription.SetupCard,
			Repetition: domain.Repetition{Key: id}, At: at})
		state = subscription.Evolve(state, subscription.Agreed{Account: "a1", Request: id, At: at})
	}
	require.Len(t, state.Answered, 100, "bounded")
	_, found := state.Answer(time.Duration(299).String())
	require.True(t, found)
	late := noon.AddDate(1, 0, 0)
	state = subscription.Evolve(state, subscription.Requested{Account: "a1", Request: "late", Kind: subscription.SetupCard,
		At: late})
	state = subscription.Evolve(state, subscription.Agreed{Account: "a1", Request: "late", At: late})
	require.Len(t, state.Answered, 1)
}
