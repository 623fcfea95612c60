package billing

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/semaphore"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/catalogue"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// Names of the to-do lists.
const (
	CompleteRequestProcess = "complete_request" // requests that are open for longer than Patience
	DunningProcess         = "dunning"          // subscriptions at the end of their grace
	PaymentProcess         = "payment"          // notices that were not handled
	CollectProcess         = "collect"          // payments and ends of subscriptions, after which debts are collected
	OverageProcess         = "bill_overage"     // characters past a plan, on ended terms
	DisputeProcess         = "end_disputed"     // lost disputes that end subscriptions
)

// Patience is the age from which an open request is considered interrupted by a crash.
const Patience = 30 * time.Second

// Config configures Billing. The fields in the first group are required.
type Config struct {
	Journal *journal.Journal
	Gateway payments.Gateway
	Keys    keyring.Keyring
	Periods Periods
	Views   Views
	// Alert raises an alert. Repeated calls for an occasion raise one alert.
	Alert func(ctx context.Context, o Occasion) error
	// Address returns the sealed e-mail address of an account's owner from a read model; nil for none.
	Address func(ctx context.Context, account string) ([]byte, error)
	Now     func() time.Time
	Logger  *slog.Logger

	Coupon string        // for the first subscription of an account; "" for none
	Grace  time.Duration // for which a plan is granted while a payment is missing
	// DisputeEndsPlan ends the subscriptions of an account after a lost dispute. It applies to disputes that are found
	// lost while it is set.
	DisputeEndsPlan bool
	// Missed is called with the time of each event that a reconciliation found and no notice had brought. It may be nil.
	Missed func(time.Time)
}

// Views are the read models that Billing uses. They may be out of date: they are hints, and the log decides.
type Views interface {
	// AccountOf returns the account of a customer, or "" for an unknown one.
	AccountOf(ctx context.Context, customer string) (account string, err error)
	// Overdue returns accounts with a subscription that has not ended, and a period that was over at a time, in order,
	// beginning after a given account. The last page is empty.
	Overdue(ctx context.Context, at time.Time, after string) (accounts []string, err error)
}

// Periods is the billing of usage by the ledger. A period is given by its stream, and terms by the version of their
// entitlement.
type Periods interface {
	// OverageOn returns the usage past plan and credit on ended terms, and the position of the period's last event.
	OverageOn(ctx context.Context, stream string, version int64) (ledger.PeriodOverage, eventlog.Position, error)
	// OverageBilled records the billing of an overage. Recording it again has no effect.
	OverageBilled(
		ctx context.Context, stream string, version int64, b ledger.Bill, cause uuid.UUID,
	) (eventlog.Position, error)
	// EndFor ends the periods of a closed account, and returns their unbilled overages as items of OverageProcess. While
	// a reservation is open in them the error is a *todo.NotYetError.
	EndFor(ctx context.Context, account string) ([]todo.Item, error)
}

// Occasion is the cause of an alert, as for package alerts. Source, subject, reason and cause identify it.
type Occasion struct {
	Source  string
	Subject string
	Reason  alert.Reason
	Cause   uuid.UUID // an event; zero for none
	Detail  string    // for the log line; never personal data
	At      time.Time
}

// Billing executes the commands on subscriptions, cards and notices. Errors of its methods, besides those in their
// comments: domain.Unavailable while the provider, the log or the keyring does not respond; domain.PaymentRequired for
// a declined payment.
type Billing struct {
	Config
	refreshed *lru.Cache[string, eventlog.Position] // by account: head of the log at the last look
	notices   *lru.Cache[string, *keptNotice]       // by stream: recorded by this instance
	accounts  *lru.Cache[string, string]            // by customer, which never changes its account
	looks     accountLocks
	requests  accountLocks // the provider refuses a request while it executes the same one
}

// remembered is the size of each cache of a Billing. Looks, locks and accounts take about 100 bytes each, notices 600.
const remembered = 10_000

// New returns a Billing.
func New(config Config) *Billing {
	refreshed, _ := lru.New[string, eventlog.Position](remembered) // fails for a size below 1
	notices, _ := lru.New[string, *keptNotice](remembered)
	accounts, _ := lru.New[string, string](remembered)
	return &Billing{Config: config, refreshed: refreshed, notices: notices, accounts: accounts,
		looks: newAccountLocks(), requests: newAccountLocks()}
}

// accountLocks has the locks of the accounts that were last locked. One that is held is dropped only after thousands of
// others.
type accountLocks struct {
	locks *lru.Cache[string, *semaphore.Weighted] // by account
}

func newAccountLocks() accountLocks {
	locks, _ := lru.New[string, *semaphore.Weighted](remembered) // fails for a size below 1
	return accountLocks{locks}
}

// lock waits for the lock of an account. The caller must call release, unless an error is returned.
func (t accountLocks) lock(ctx context.Context, account string) (release func(), err error) {
	lock := t.of(account)
	if err := lock.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { lock.Release(1) }, nil
}

// tryLock takes the lock of an account if it is free. The caller must then call release.
func (t accountLocks) tryLock(account string) (release func(), free bool) {
	lock := t.of(account)
	return func() { lock.Release(1) }, lock.TryAcquire(1)
}

func (t accountLocks) of(account string) *semaphore.Weighted {
	if lock, found := t.locks.Get(account); found {
		return lock
	}
	lock := semaphore.NewWeighted(1)
	if known, found, _ := t.locks.PeekOrAdd(account, lock); found {
		return known
	}
	return lock
}

// State returns the subscription of an account, read from its stream.
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
