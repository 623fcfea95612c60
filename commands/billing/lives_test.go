package billing_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	api "github.com/stripe/stripe-go/v84"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/testing/proptest"
)

// life is an account with random actions of its owner, and the expected statement.
type life struct {
	*closingWorld
	t       *testing.T
	draw    *rapid.T
	id      string
	due     *statement
	fees    []fee
	subs    map[string]*bought // paid ones, by subscription, in their last state at the provider
	lapsed  map[string]bool    // by subscription
	deed    time.Time          // start of the current step
	history []string
}

// For any actions of an account's owner, any results of its cards, any delay of notices and crashes at any change, the
// collected, open and forgiven amounts match the price list, to the cent, and every character past a plan is on one
// line of an invoice, or its loss is an event.
func TestALifeIsPaidToTheCent(t *testing.T) {
	h := newClosingWorld(t)
	proptest.Check(t, 4, func(draw *rapid.T) {
		l := newLife(h, t, draw)
		steps := map[string]func(){
			"subscribes": l.subscribe, "speaks": l.speaks, "speaks more": l.speaks, "changes": l.change,
			"changes again": l.change,
			"cancels":       l.cancel, "uncancels": l.uncancel, "drops": l.drop, "replaces the card": l.card,
			"declines": l.decline, "passes": l.pass, "passes more": l.pass, "reaches a border": l.border, "hears": l.hear,
			"works": l.works,
		}
		names := make([]string, 0, len(steps))
		for name := range steps {
			names = append(names, name)
		}
		slices.Sort(names)
		l.do("subscribes", l.subscribe)
		l.do("hears", l.hear)
		for range rapid.IntRange(3, 25).Draw(draw, "steps") {
			name := rapid.SampledFrom(names).Draw(draw, "step")
			l.do(name, steps[name])
		}
		l.end()
		l.requireSums()
	})
}

func newLife(h *closingWorld, t *testing.T, draw *rapid.T) *life {
	opened, err := h.accounts.Open(t.Context(), "free", commandstest.Operator())
	require.NoError(draw, err)
	id := opened.Account
	return &life{closingWorld: h, t: t, draw: draw, id: id, due: newStatement(h.Account(id).Entitlement.Start),
		subs: map[string]*bought{}, lapsed: map[string]bool{}}
}

// do executes a step, and observes the provider.
func (l *life) do(name string, step func()) {
	l.deed = l.sandbox.Now()
	step()
	l.see()
	l.history = append(l.history, fmt.Sprintf("%s: %s", l.deed.Format(time.DateTime), name))
}

// String returns the history of the life.
func (l *life) String() string {
	return strings.Join(l.history, "\n") + "\n\n" + strings.Join(l.due.log, "\n")
}

func (l *life) permitted(err error) {
	switch domain.CodeOf(err) {
	case "":
		require.NoError(l.draw, err, "%s", l)
	case domain.Unauthenticated, domain.Denied, domain.Unavailable:
		l.draw.Fatalf("unexpected: %v\n%s", err, l)
	}
}

func (l *life) price() string {
	return rapid.SampledFrom([]string{indie, indie, pro, premium}).Draw(l.draw, "price")
}

// asks executes a command on an instance that sometimes crashes. A worker then completes it.
func (l *life) asks(what func(ctx context.Context, b *billing.Billing) error) {
	at := rapid.IntRange(-6, 4).Draw(l.draw, "dies at")
	if at <= 0 {
		l.permitted(what(l.t.Context(), l.Billing))
		return
	}
	f := &commandstest.Fuse{At: at, After: rapid.Bool().Draw(l.draw, "after")}
	dying, ctx := l.mortal(l.t, f)
	if err := what(ctx, dying); !f.Blown() {
		l.permitted(err)
		return
	}
	l.goOn()
}

// goOn completes interrupted requests.
func (l *life) goOn() {
	l.advance(billing.Patience + time.Second)
	if l.state(l.id).Account == "" {
		return
	}
	_, err := l.CompleteRequest(l.t.Context(), subscription.Stream(l.id), cause())
	require.NoError(l.draw, err, "%s", l)
}

func (l *life) subscribe() {
	made, err := l.Subscribe(l.t.Context(), l.id, l.price(), none, origin)
	l.permitted(err)
	if err != nil || rapid.IntRange(0, 4).Draw(l.draw, "pays") == 0 {
		return
	}
	_ = l.sandbox.Confirm(made.ClientSecret, "pm_card_visa") // refused if it is paid
}

func (l *life) speaks() {
	n := rapid.Int64Range(1, 1200).Draw(l.draw, "characters") * rapid.SampledFrom([]int64{1, 10, 200, 5000}).Draw(l.draw,
		"times")
	now := l.sandbox.Now()
	l.due.reach(now)
	if past := tariffs[l.due.plan].included - l.due.used; past > 0 && rapid.Bool().Draw(l.draw, "past the plan") {
		n += past
	}
	r, err := l.ledger.Reserve(l.t.Context(), l.id, n, origin)
	permitted := l.due.speak(n, now)
	l.due.log = append(l.due.log, fmt.Sprintf("%d characters: %v", n, permitted))
	if !permitted {
		require.Equal(l.draw, domain.PaymentRequired, domain.CodeOf(err), "%v\n%s", err, l)
		return
	}
	require.NoError(l.draw, err, "%s", l)
	_, err = l.ledger.Settle(l.t.Context(), r, n)
	require.NoError(l.draw, err)
}

func (l *life) change() {
	price := l.price()
	l.asks(func(ctx context.Context, b *billing.Billing) error {
		_, err := b.ChangePlan(ctx, l.id, price, none, origin)
		return err
	})
	l.mayHear()
}

// mayHear usually makes the account observe a change immediately.
func (l *life) mayHear() {
	if rapid.IntRange(0, 2).Draw(l.draw, "heard at once") > 0 {
		l.see()
		l.hear()
	}
}

func (l *life) cancel() {
	l.asks(func(ctx context.Context, b *billing.Billing) error {
		_, err := b.Cancel(ctx, l.id, none, origin)
		return err
	})
	l.mayHear()
}

func (l *life) uncancel() {
	l.asks(func(ctx context.Context, b *billing.Billing) error {
		_, err := b.Uncancel(ctx, l.id, none, origin)
		return err
	})
	l.mayHear()
}

func (l *life) drop() {
	l.asks(func(ctx context.Context, b *billing.Billing) error {
		_, err := b.DropScheduledChange(ctx, l.id, none, origin)
		return err
	})
}

func (l *life) card() {
	l.pays(rapid.SampledFrom([]string{"pm_card_mastercard", "pm_card_chargeCustomerFail"}))
}

func (l *life) pays(with *rapid.Generator[string]) {
	if l.state(l.id).Customer == "" {
		return
	}
	method := l.register(l.id, with.Draw(l.draw, "card"))
	l.asks(func(ctx context.Context, b *billing.Billing) error {
		_, err := b.ReplaceCard(ctx, l.id, method, none, origin)
		return err
	})
}

func (l *life) decline() {
	if id := l.state(l.id).Customer; id != "" {
		require.NoError(l.draw, l.sandbox.FailNextPayment(id))
	}
}

// pass advances the clock, during which notices may be lost and workers pause.
func (l *life) pass() {
	hours := rapid.SampledFrom([]int{1, 30, 24 * 5, 24 * 14, 24 * 32}).Draw(l.draw, "hours")
	l.advance(time.Duration(hours) * time.Hour)
}

func (l *life) border() {
	seconds := rapid.SampledFrom([]int{-600, 60, 3000, 7200}).Draw(l.draw, "seconds")
	at := l.due.end.Add(time.Duration(seconds) * time.Second)
	if d := at.Sub(l.sandbox.Now()); d > 0 {
		l.advance(d)
	}
}

// see records the state of the subscriptions, and their fees.
func (l *life) see() {
	now := l.sandbox.Now()
	for _, one := range slices.Backward(l.has(l.id).Subscriptions) {
		known, found := l.subs[one.ID]
		switch {
		case !found && one.Status != "active": // it was never paid
			continue
		case !found:
			known = &bought{plan: planOf(one.Price)}
			l.subs[one.ID] = known
			l.fees = append(l.fees, fee{tariffs[known.plan].price, tariffs[known.plan].price})
		}
		l.renew(known, one.EndedAt, now)
		if to := planOf(one.Price); to != known.plan {
			l.fees = append(l.fees, upgrade(known.plan, to, one.PeriodStart, one.PeriodEnd, l.deed, now))
		}
		*known = termsOf(one)
	}
}

// renew counts the renewals of a subscription.
func (l *life) renew(known *bought, ended, now time.Time) {
	if ended.IsZero() {
		ended = now
	}
	for known.next != "" && known.next != "free" && known.end.Before(ended) {
		known.plan, known.start, known.end = known.next, known.end, monthFrom(known.anchor, known.end)
		l.fees = append(l.fees, fee{tariffs[known.plan].price, tariffs[known.plan].price})
	}
}

func planOf(price string) string { return strings.TrimPrefix(price, "price_") }

// termsOf returns the entitlement of a subscription.
func termsOf(one payments.Subscription) bought {
	of := bought{plan: planOf(one.Price), next: planOf(one.Price), start: one.PeriodStart.UTC(), end: one.PeriodEnd.UTC(),
		anchor: one.Anchor.UTC()}
	switch {
	case one.CancelAtPeriodEnd:
		of.next = "free"
	case one.Scheduled != nil:
		of.next = planOf(one.Scheduled.Price)
	}
	return of
}

// hear makes the account and its ledger follow the subscription, as after notices.
func (l *life) hear() {
	ctx := l.t.Context()
	_, err := l.Refresh(ctx, l.id)
	require.NoError(l.draw, err, "%s", l)
	l.lapse()
	now := l.sandbox.Now()
	l.follow(l.id)
	if of, any := l.entitled(now); any {
		l.due.hear(of, now)
	}
}

// lapse withdraws a plan at the end of its grace.
func (l *life) lapse() {
	now := l.sandbox.Now()
	for _, one := range l.has(l.id).Subscriptions {
		if one.Status != "past_due" {
			delete(l.lapsed, one.ID)
			continue
		}
		if known, _ := l.state(l.id).Find(one.ID); now.After(known.GraceEnds) {
			_, err := l.Lapse(l.t.Context(), subscription.Stream(l.id), cause())
			require.NoError(l.draw, err, "%s", l)
			l.lapsed[one.ID] = true
		}
	}
}

// entitled returns the entitlement of the subscriptions.
func (l *life) entitled(now time.Time) (of bought, any bool) {
	var ended time.Time
	for _, one := range l.has(l.id).Subscriptions {
		switch {
		case one.Status == "active", one.Status == "past_due" && !l.lapsed[one.ID]:
			return termsOf(one), true
		case l.lapsed[one.ID]:
			return bought{plan: "free", start: now}, true
		case one.Status == "canceled":
			end := one.EndedAt
			if end.After(one.PeriodEnd) {
				end = one.PeriodEnd
			}
			if end.After(ended) {
				ended = end
			}
		}
	}
	return bought{plan: "free", start: ended}, !ended.IsZero()
}

// works executes the due to-dos on an instance that sometimes crashes.
func (l *life) works() {
	at := rapid.IntRange(-3, 8).Draw(l.draw, "dies at")
	if at > 0 {
		f := &commandstest.Fuse{At: at, After: rapid.Bool().Draw(l.draw, "after")}
		dying, ctx := l.mortal(l.t, f)
		log := commandstest.MortalLog{Log: l.Log, Fuse: f}
		dying.Periods = l.keeper(log)
		if err := l.work(ctx, dying); !f.Blown() {
			require.NoError(l.draw, err, "%s", l)
		}
		l.advance(billing.Patience + time.Second)
	}
	require.NoError(l.draw, l.work(l.t.Context(), l.Billing), "%s", l)
}

// work executes the to-dos of periods, overages and debts.
func (l *life) work(ctx context.Context, b *billing.Billing) error {
	keeper := b.Periods.(*ledger.Ledger)
	for _, stream := range l.Log.Written("usage-" + l.id) {
		books := l.BooksOf(stream)
		if books.Terms.Metered && (books.Over() || !l.sandbox.Now().Before(books.Terms.End)) {
			if _, err := keeper.ClosePeriod(ctx, stream, cause()); err != nil && domain.CodeOf(err) != domain.Conflict {
				return err
			}
			books = l.BooksOf(stream)
		}
		for _, over := range books.Overages {
			if over.Billed {
				continue
			}
			if _, err := b.BillOverage(ctx, stream, over.Version, cause()); err != nil {
				return err
			}
		}
	}
	return l.collects(ctx, b)
}

// collects collects debts after each payment, and an hour after the end of a subscription.
func (l *life) collects(ctx context.Context, b *billing.Billing) error {
	due := map[string]eventlog.Decoded{}
	for _, event := range l.Decoded(subscription.Stream(l.id)) {
		switch e := event.Event.(type) {
		case subscription.Activated:
			due[event.ID.String()] = event
		case subscription.Ended:
			if l.sandbox.Now().Sub(e.At) > time.Hour {
				due[event.ID.String()] = event
			}
		case subscription.Collected:
			delete(due, e.Event)
		}
	}
	for _, event := range due {
		if _, err := b.Collect(ctx, subscription.Stream(l.id), event.ID); err != nil {
			return err
		}
	}
	return nil
}

// end ends the life: the account is closed, or its subscription has ended and all notices have arrived.
func (l *life) end() {
	if rapid.Bool().Draw(l.draw, "closes") {
		l.do("hears", l.hear)
		l.do("closes", l.closes)
		return
	}
	for range 3 {
		l.do("hears", l.hear)
		l.do("works", l.works)
		l.do("time passes", func() { l.advance(25 * time.Hour) })
	}
	if rapid.Bool().Draw(l.draw, "a last card") {
		l.do("a card that pays", func() { l.pays(rapid.Just("pm_card_visa")) })
	}
	l.do("cancels", l.cancel)
	l.do("drops", l.drop)
	l.do("cancels", l.cancel)
	l.do("the end comes", func() { l.advance(32 * 24 * time.Hour) })
	for range 3 {
		l.do("hears", l.hear)
		l.do("works", l.works)
		l.do("time passes", func() { l.advance(25 * time.Hour) })
	}
}

// closes closes the account. The first instance that executes the due steps sometimes crashes.
func (l *life) closes() {
	l.closingWorld.close(l.id)
	l.due.reach(l.sandbox.Now())
	l.due.bill()
	f := &commandstest.Fuse{At: rapid.IntRange(1, 20).Draw(l.draw, "dies at"), After: rapid.Bool().Draw(l.draw, "after")}
	dying, ctx := l.mortal(l.t, f)
	log := commandstest.MortalLog{Log: l.Log, Fuse: f}
	dying.Periods = l.keeper(log)
	j := &journal.Journal{Log: log, Registry: l.Journal.Registry}
	err := l.closingWorld.goOn(ctx, dying, accounts.New(j, l.sandbox.Now), l.id)
	if f.Blown() {
		err = l.goOnUntilDone(l.t, l.id)
	}
	require.NoError(l.draw, err, "%s", l)
	require.Equal(l.draw, account.ErasedOnce, l.Account(l.id).Closing)
}

// sums are the paid and unpaid amounts at the provider and in the log.
type sums struct {
	collected, open, waiting, forgiven, balance int64
	lines                                       []line
}

// requireSums compares the amount due by the price list with the sums.
func (l *life) requireSums() {
	var owed fee
	for _, f := range l.fees {
		owed = fee{owed.least + f.least, owed.most + f.most}
	}
	for _, one := range l.due.lines {
		owed = fee{owed.least + one.Amount, owed.most + one.Amount}
	}
	has := l.sums()
	require.ElementsMatch(l.draw, l.due.lines, has.lines, "%s", l)
	all := has.collected + has.open + has.waiting + has.forgiven + has.balance
	require.GreaterOrEqual(l.draw, all, owed.least, "%+v\n%v\n%s", has, l.fees, l)
	require.LessOrEqual(l.draw, all, owed.most, "%+v\n%v\n%s", has, l.fees, l)
	if l.Account(l.id).Closing != account.NotClosed {
		require.LessOrEqual(l.draw, has.balance, int64(0), "what the customer owed is gone with it: %+v\n%s", has, l)
	}
	require.Zero(l.draw, has.waiting, "no invoice comes that it could be on: %+v\n%s", has, l)
}

func (l *life) sums() (has sums) {
	customer := ""
	lost := map[string]subscription.Lost{}
	for _, event := range l.events(l.id) {
		switch e := event.(type) {
		case subscription.CustomerCreated:
			customer = e.Customer
		case subscription.Lost:
			require.NotContains(l.draw, lost, e.Object)
			require.NotEmpty(l.draw, e.Reason)
			lost[e.Object] = e
			has.forgiven += e.Amount
		}
	}
	if customer == "" {
		return has
	}
	status := l.invoices(customer, lost, &has)
	l.charges(customer, &has)
	l.lines(customer, status, lost, &has)
	return has
}

// invoices adds up open amounts and the customer's balance, and returns the status of each invoice.
func (l *life) invoices(customer string, lost map[string]subscription.Lost, has *sums) map[string]string {
	status := map[string]string{}
	for i, err := range l.api.V1Invoices.List(l.t.Context(), &api.InvoiceListParams{Customer: &customer}) {
		require.NoError(l.draw, err)
		status[i.ID] = string(i.Status)
		if i.Status != "draft" && i.Status != "void" {
			has.balance += i.Total - i.AmountDue
		}
		switch i.Status {
		case "open", "draft":
			has.open += i.AmountDue
		case "uncollectible":
			require.Equal(l.draw, i.AmountDue, lost[i.ID].Amount, "%s", l)
		}
	}
	return status
}

func (l *life) charges(customer string, has *sums) {
	for c, err := range l.api.V1Charges.List(l.t.Context(), &api.ChargeListParams{Customer: &customer}) {
		require.NoError(l.draw, err)
		if c.Paid {
			has.collected += c.Amount
		}
	}
}

// lines finds each overage: on an invoice that is not void, waiting for one, or among the losses.
func (l *life) lines(customer string, status map[string]string, lost map[string]subscription.Lost, has *sums) {
	seen := map[string]bool{}
	for i, err := range l.api.V1InvoiceItems.List(l.t.Context(), &api.InvoiceItemListParams{Customer: &customer}) {
		require.NoError(l.draw, err)
		usage := i.Metadata["usage"]
		if usage == "" {
			continue
		}
		require.False(l.draw, seen[usage], "billed twice: %s\n%s", usage, l)
		seen[usage] = true
		if i.Invoice == nil {
			has.waiting += i.Amount
		}
		l.requireCounted(i, status, lost)
		var characters int64
		_, err := fmt.Sscan(i.Metadata["characters"], &characters)
		require.NoError(l.draw, err)
		has.lines = append(has.lines, line{characters, i.Amount})
	}
	has.balance -= lost[customer].Amount // it is among the losses
	for _, one := range lost {
		if one.Reason == subscription.BelowMinimum && one.Object != customer {
			require.Less(l.draw, one.Amount, int64(50))
			has.lines = append(has.lines, line{one.Characters, one.Amount})
		}
	}
}

// requireCounted requires that an item is on a valid invoice, or among the losses if that is void.
func (l *life) requireCounted(i *api.InvoiceItem, status map[string]string, lost map[string]subscription.Lost) {
	loss, isLost := lost[i.Metadata["usage"]]
	if i.Invoice == nil || status[i.Invoice.ID] != "void" {
		require.False(l.draw, isLost, "lost, and on an invoice: %+v\n%s", loss, l)
		return
	}
	require.Equal(l.draw, subscription.Voided, loss.Reason, "%+v is on a void invoice\n%s", i, l)
	require.Equal(l.draw, i.Amount, loss.Amount, "%s", l)
}
