package subscription_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/spec"
	"github.com/recital-tts/recital/domain/subscription"
)

// provider is a fake provider's state of one customer, oldest first, on a clock of its own.
type provider struct {
	t             *rapid.T
	now           time.Time
	subscriptions []subscription.Observed
	invoices      []subscription.Billed
	card          *subscription.Card
}

var plans = []plan.Type{plan.Indie, plan.Pro, plan.Premium}

func (p *provider) latest() *subscription.Observed {
	if len(p.subscriptions) == 0 {
		return nil
	}
	return &p.subscriptions[len(p.subscriptions)-1]
}

func (p *provider) plan() plan.Type { return rapid.SampledFrom(plans).Draw(p.t, "plan") }

// step advances the clock and changes something.
func (p *provider) step() {
	p.now = p.now.Add(time.Duration(rapid.IntRange(1, 20).Draw(p.t, "days")) * 24 * time.Hour)
	current := p.latest()
	if current == nil || !current.EndedAt.IsZero() {
		of := p.plan()
		p.subscriptions = append(p.subscriptions, subscription.Observed{Terms: subscription.Terms{
			Subscription: fmt.Sprint("s", len(p.subscriptions)), Price: string(of), Plan: of, Status: "incomplete",
			PeriodStart: p.now, PeriodEnd: p.now.AddDate(0, 1, 0), Anchor: p.now,
		}})
		return
	}
	happens := map[string][]func(*subscription.Observed){
		"incomplete": {p.pay, p.expire}, "active": {p.renew, p.fail, p.change, p.schedule, p.cancel, p.uncancel, p.replace,
			p.ask, p.confirm},
		"past_due": {p.pay, p.giveUp, p.end},
		"unpaid":   {p.pay, p.end},
	}[current.Status]
	rapid.SampledFrom(happens).Draw(p.t, "step")(current)
}

func (p *provider) pay(s *subscription.Observed) {
	s.Status = "active"
	p.invoices = append(p.invoices, subscription.Billed{ID: fmt.Sprint("i", len(p.invoices)), Status: "paid",
		AmountPaid: 1, CreatedAt: p.now})
}

func (p *provider) end(s *subscription.Observed) {
	s.Status, s.EndedAt, s.CancelAtPeriodEnd, s.Scheduled = "canceled", p.now, false, nil
}

func (p *provider) ask(s *subscription.Observed) {
	of := p.plan()
	s.Pending = &subscription.Pending{Price: string(of), Plan: of, Invoice: fmt.Sprint("p", p.now.Unix()),
		ExpiresAt: p.now}
}

func (p *provider) confirm(s *subscription.Observed) {
	if s.Pending != nil {
		s.Price, s.Plan, s.Pending = s.Pending.Price, s.Pending.Plan, nil
	}
}

func (p *provider) expire(s *subscription.Observed) {
	s.Status, s.EndedAt = "incomplete_expired", p.now
}
func (p *provider) giveUp(s *subscription.Observed) { s.Status = "unpaid" }

func (p *provider) renew(s *subscription.Observed) {
	p.now = s.PeriodEnd
	if s.CancelAtPeriodEnd {
		p.now = p.now.Add(time.Second)
		p.end(s)
		return
	}
	if s.Scheduled != nil {
		s.Price, s.Plan, s.Scheduled = s.Scheduled.Price, s.Scheduled.Plan, nil
	}
	s.PeriodStart, s.PeriodEnd = s.PeriodEnd, s.PeriodEnd.AddDate(0, 1, 0)
	p.pay(s)
}

func (p *provider) fail(s *subscription.Observed) {
	if s.CancelAtPeriodEnd {
		return
	}
	p.renew(s)
	s.Status = "past_due"
	last := &p.invoices[len(p.invoices)-1]
	last.Status, last.AmountPaid, last.Attempts = "open", 0, 1
}

func (p *provider) change(s *subscription.Observed) {
	of := p.plan()
	s.Price, s.Plan, s.Scheduled = string(of), of, nil
}

func (p *provider) schedule(s *subscription.Observed) {
	of := p.plan()
	s.Scheduled = &subscription.Change{Price: string(of), Plan: of, EffectiveAt: s.PeriodEnd}
	s.CancelAtPeriodEnd = false
}
func (p *provider) cancel(s *subscription.Observed)   { s.CancelAtPeriodEnd, s.Scheduled = true, nil }
func (p *provider) uncancel(s *subscription.Observed) { s.CancelAtPeriodEnd = false }
func (p *provider) replace(*subscription.Observed) {
	p.card = &subscription.Card{PaymentMethod: fmt.Sprint("pm", p.now.Unix()), Brand: []byte{1}, Last4: []byte{2}}
}

// look returns an observation: the newest objects, newest first.
func (p *provider) look() subscription.Observe {
	seen := subscription.Observe{Customer: "c1", Card: p.card, Grace: grace, At: p.now}
	for _, one := range slices.Backward(p.subscriptions[max(0, len(p.subscriptions)-20):]) {
		seen.Subscriptions = append(seen.Subscriptions, one)
	}
	for _, one := range slices.Backward(p.invoices[max(0, len(p.invoices)-100):]) {
		seen.Invoices = append(seen.Invoices, one)
	}
	return seen
}

// requireShown requires that a state equals the provider's.
func (p *provider) requireShown(s subscription.State) {
	for _, one := range p.look().Subscriptions {
		known, found := s.Find(one.Subscription)
		require.True(p.t, found)
		require.Equal(p.t, one.Terms, known.Terms)
		require.Equal(p.t, one.Scheduled, known.Scheduled)
		require.Equal(p.t, one.CancelAtPeriodEnd, !known.CancelAt.IsZero())
	}
	require.Equal(p.t, p.card, s.Card)
	granted := plan.Free
	if current := p.latest(); current != nil && (current.Status == "active" || current.Status == "past_due") {
		granted = current.Plan
	}
	if s.Entitled != nil {
		require.Equal(p.t, granted, s.Entitled.Plan)
	} else {
		require.Equal(p.t, plan.Free, granted)
	}
}

// observer folds its observations.
type observer struct {
	state  subscription.State
	events []subscription.Event
}

func (o *observer) do(t *rapid.T, c interface {
	Decide(subscription.State) ([]subscription.Event, error)
}) int {
	decided, err := c.Decide(o.state)
	require.NoError(t, err)
	for _, event := range decided {
		o.state = subscription.Evolve(o.state, event)
	}
	o.events = append(o.events, decided...)
	return len(decided)
}

// For any events between two observations, the second one records the provider's state, a third one has no effect, and
// an observer of every event has the same state.
func TestALookShowsWhatTheProviderHasWhateverWasMissed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &provider{t: t, now: noon}
		watching, sleeping := &observer{}, &observer{}
		for _, o := range []*observer{watching, sleeping} {
			o.do(t, subscription.RecordCustomer{Account: "a1", Customer: "c1", At: noon})
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			p.step()
			watching.do(t, p.look())
			p.requireShown(watching.state)
			if rapid.IntRange(0, 4).Draw(t, "sleeps") > 0 {
				continue
			}
			sleeping.do(t, p.look())
			p.requireShown(sleeping.state)
			require.Zero(t, sleeping.do(t, p.look()), "the same look again")
			require.Zero(t, watching.do(t, p.look()), "the same look again")
			require.Equal(t, granted(watching.state), granted(sleeping.state))
		}
		requireSnapshots(t, watching)
	})
}

// granted returns the plan to which an account is entitled: free if no purchase was ever observed.
func granted(s subscription.State) plan.Type {
	if s.Entitled == nil {
		return plan.Free
	}
	return s.Entitled.Plan
}

// requireSnapshots requires that a snapshot at any place results in the same state, after any known state.
func requireSnapshots(t *rapid.T, o *observer) {
	at := rapid.IntRange(0, len(o.events)).Draw(t, "snapshot")
	before := spec.Fold(subscription.Evolve, o.events[:at])
	before.SinceSnapshot = subscription.SnapshotEvery
	taken := before.Snapshot(noon)
	state := spec.FromSnapshot(t, subscription.Evolve, taken, before, o.state)
	before.SinceSnapshot = 0
	require.Equal(t, before, state)
	for _, event := range o.events[at:] {
		state = subscription.Evolve(state, event)
	}
	require.Equal(t, o.state.Facts, state.Facts)
}
