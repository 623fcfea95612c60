package billing

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/semaphore"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/catalogue"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// Names of the to-do lists.
const (
	CompleteRequestProcess = "complete_request" // requests that are open for longer than Patience
	DunningProcess         = "dunning"          // subscriptions whose grace is over
	PaymentProcess         = "payment"          // notices that were not handled
	CollectProcess         = "collect"          // payments and ends of subscriptions, after which debts are seen to
	OverageProcess         = "bill_overage"     // characters past a plan, on terms that have ended
	DisputeProcess         = "end_disputed"     // lost disputes that end subscriptions
)

// Patience is the age from which an open request is considered left behind by a crash.
const Patience = 30 * time.Second

// Config configures Billing. The first group is needed.
type Config struct {
	Journal *journal.Journal
	Gateway payments.Gateway
	Keys    keyring.Keyring
	Periods Periods
	Views   Views
	Alert   func(ctx context.Context, l Lapse) error
	// AlertUnpaid raises the alert of an invoice, once however often it is called.
	AlertUnpaid func(ctx context.Context, i UnpaidInvoice) error
	// AlertLost raises the alert of a dispute that is lost, once however often it is called.
	AlertLost func(ctx context.Context, d LostDispute) error
	// AlertSecond raises the alert of a second running subscription. Repeated calls raise one alert.
	AlertSecond func(ctx context.Context, s SecondSubscription) error
	// Address returns the e-mail address of an account's owner as a read model shows it, sealed; nil if it shows none.
	Address func(ctx context.Context, account string) ([]byte, error)
	Now     func() time.Time
	Logger  *slog.Logger

	Coupon string        // for the first subscription of an account; "" for none
	Grace  time.Duration // for which a plan is granted while a payment is missing
	// DisputeEndsPlan is the operator's rule that the subscriptions of an account end when it has its money back by a
	// dispute. It holds for disputes that are found lost while it is set.
	DisputeEndsPlan bool
}

// Views are the read models that Billing uses. They may be out of date: they are hints, and the log decides.
type Views interface {
	// AccountOf returns the account of a customer, "" if none is shown.
	AccountOf(ctx context.Context, customer string) (account string, err error)
	// Overdue returns accounts of unended subscriptions with a period that was over at a time, in order, beginning
	// after a given account; none at the end.
	Overdue(ctx context.Context, at time.Time, after string) (accounts []string, err error)
}

// Periods are what accounts have used, for the ledger. A period is given by its stream, terms by the version of the
// entitlement that they follow.
type Periods interface {
	// OverageOn returns the usage past plan and credit on terms that have ended.
	OverageOn(ctx context.Context, stream string, version int64) (Overage, error)
	// OverageBilled records the billing of an overage. Recording it again has no effect.
	OverageBilled(ctx context.Context, stream string, version int64, b Billed, cause uuid.UUID) (eventlog.Position, error)
	// EndFor ends the periods of a closed account, and returns their unbilled usage. While a reservation is open in
	// them the error is a *todo.NotYetError.
	EndFor(ctx context.Context, account string) ([]Unbilled, error)
}

// Overage is the usage past plan and credit on terms that have ended.
type Overage struct {
	Account    string
	Plan       plan.Type
	Start      time.Time // of the period
	End        time.Time // of the terms
	Characters int64
	At         time.Time         // when it was recorded
	Billed     bool              // including one that costs nothing
	Position   eventlog.Position // of the last event of the period
}

// Billed is the billing of an overage. Item is "" if it cost nothing.
type Billed struct {
	Units, Amount  int64
	Currency, Item string
}

// Lapse is a subscription that lost its plan because it was not paid.
type Lapse struct {
	Account      string
	Subscription string
	Cause        uuid.UUID // the event that began the grace
	At           time.Time
}

// Billing carries out what concerns money. Errors of its methods, besides those that they name: domain.Unavailable
// while the provider, the log or the keyring does not answer; domain.PaymentRequired for a payment that was declined.
type Billing struct {
	Config
	refreshed *lru.Cache[string, eventlog.Position] // by account: the log's head when its last look at the provider began
	notices   *lru.Cache[string, *keptNotice]       // by stream: what this instance has recorded
	accounts  *lru.Cache[string, string]            // by customer, which never changes its account
	looks     turns
	requests  turns // the provider refuses a request that comes while it carries out the same one
}

// remembered bounds the memory of a Billing: looks and accounts take about 100 bytes each, notices 600.
const remembered = 10_000

// New returns a Billing.
func New(config Config) (*Billing, error) {
	refreshed, err := lru.New[string, eventlog.Position](remembered)
	if err != nil {
		return nil, err
	}
	notices, err := lru.New[string, *keptNotice](remembered)
	if err != nil {
		return nil, err
	}
	accounts, err := lru.New[string, string](remembered)
	if err != nil {
		return nil, err
	}
	return &Billing{Config: config, refreshed: refreshed, notices: notices, accounts: accounts}, nil
}

// turns has what concerns one account done one after the other.
type turns struct {
	mu    sync.Mutex
	lanes map[string]*lane // by account
}

// lane is the turn of an account that somebody has or waits for.
type lane struct {
	*semaphore.Weighted
	users int
}

// take waits for the turn of an account. release must follow, unless an error is returned.
func (t *turns) take(ctx context.Context, account string) (release func(), err error) {
	turn := t.enter(account)
	if err := turn.Acquire(ctx, 1); err != nil {
		t.leave(account)
		return nil, err
	}
	return func() { turn.Release(1); t.leave(account) }, nil
}

// tryTake takes the turn of an account if it is free. The caller must then call release.
func (t *turns) tryTake(account string) (release func(), free bool) {
	turn := t.enter(account)
	if !turn.TryAcquire(1) {
		t.leave(account)
		return nil, false
	}
	return func() { turn.Release(1); t.leave(account) }, true
}

func (t *turns) enter(account string) *lane {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lanes == nil {
		t.lanes = map[string]*lane{}
	}
	turn := t.lanes[account]
	if turn == nil {
		turn = &lane{Weighted: semaphore.NewWeighted(1)}
		t.lanes[account] = turn
	}
	turn.users++
	return turn
}

func (t *turns) leave(account string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := t.lanes[account]
	if turn.users--; turn.users == 0 {
		delete(t.lanes, account)
	}
}

// State returns the subscription of an account, from its stream.
func (b *Billing) State(ctx context.Context, account string) (subscription.State, journal.Version, error) {
	return journal.Load(ctx, b.Journal, stream(account))
}

type (
	subscriptionStream = journal.Stream[subscription.State, subscription.Event]
	command            = journal.Decider[subscription.State, subscription.Event]
)

// stream returns the stream of an account's subscription, loaded from its last snapshot.
func stream(account string) subscriptionStream {
	return subscriptionStream{
		Name: subscription.Stream(account), Evolve: subscription.Evolve, Snapshot: subscription.State.Snapshot,
	}
}

func accountOfStream(name string) string { return strings.TrimPrefix(name, subscription.StreamPrefix) }

func catalogueStream() journal.Stream[catalogue.State, catalogue.Event] {
	return journal.Stream[catalogue.State, catalogue.Event]{Name: catalogue.Stream, Evolve: catalogue.Evolve}
}

func (b *Billing) now() time.Time { return b.Now().UTC() }
