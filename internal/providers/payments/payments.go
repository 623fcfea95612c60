// Package payments is the port of a payment provider: prices, customers, subscriptions, cards, invoices and the
// provider's events. Amounts are integers in minor units of a currency (ISO 4217, in lower case), which always
// accompanies them. Times are UTC. Its adapters are stripe, for the provider's API, and sandbox, a provider for
// development that speaks that API.
package payments

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Attempt identifies one change, so that repeated attempts take effect once. The provider remembers ID for a limited
// time. An older change is looked up by its ID before it is made again.
type Attempt struct {
	ID    string    // at most 64 letters, digits and hyphens; also in the object's metadata
	First time.Time // time of the first attempt
}

// Gateway is a payment provider. It returns the provider's state at the moment of the call. Errors are the ones below;
// ErrUnavailable stands for all that may succeed later.
type Gateway interface {
	// Prices returns the monthly prices that are on sale, with their products.
	Prices(ctx context.Context) ([]Price, error)
	// Coupon returns a coupon, or ErrNotFound.
	Coupon(ctx context.Context, id string) (Discount, error)

	// CreateCustomer creates the customer of an account, with the account's id in its metadata.
	CreateCustomer(ctx context.Context, a Attempt, account string) (customer string, err error)
	// SetAddress sets the e-mail address for a customer's receipts and reminders. It has no effect if it has set the same
	// address before, so that an address set at the provider by other means is kept.
	SetAddress(ctx context.Context, a Attempt, customer, address string) error
	// AccountOf returns the account in a customer's metadata, or "" if there is none. Errors: ErrNotFound.
	AccountOf(ctx context.Context, customer string) (account string, err error)
	// Billing returns the provider's state of a customer.
	Billing(ctx context.Context, customer string) (Billing, error)
	// Excerpt returns the subscriptions and the card, and optionally the invoices, by fewer requests. Refunds and disputes
	// of the invoices are missing.
	Excerpt(ctx context.Context, customer string, invoices bool) (Billing, error)

	// Subscribe creates a subscription, which is incomplete until its first invoice is paid.
	Subscribe(ctx context.Context, a Attempt, s NewSubscription) (Subscription, error)
	// FirstPayment returns the data for paying the first invoice of an incomplete subscription. Later invoices are paid
	// with ClientSecret.
	FirstPayment(ctx context.Context, subscription string) (FirstPayment, error)
	// ChangePrice changes the price now and charges the difference; if that cannot be paid, nothing changes and the
	// error is ErrDeclined. A scheduled change is dropped only if the price has changed. If the card's owner has to
	// confirm the payment, the change is pending in the returned subscription.
	ChangePrice(ctx context.Context, a Attempt, c PriceChange) (Subscription, error)
	// PreviewPrice returns the invoice that ChangePrice would charge now. It changes nothing.
	PreviewPrice(ctx context.Context, subscription, price string) (Preview, error)
	// ClientSecret returns the secret with which a client pays an invoice, or has paid it; "" if there is nothing to pay.
	ClientSecret(ctx context.Context, invoice string) (string, error)
	// ScheduleChange changes the price at the end of the period. Another scheduled change is replaced.
	ScheduleChange(ctx context.Context, a Attempt, subscription, price string) (Subscription, error)
	// DropScheduledChange drops the scheduled change, if there is one.
	DropScheduledChange(ctx context.Context, a Attempt, subscription string) (Subscription, error)
	// SetCancelAtPeriodEnd ends the subscription at the end of its period, or resumes it. A scheduled change is dropped.
	SetCancelAtPeriodEnd(ctx context.Context, a Attempt, subscription string, cancel bool) (Subscription, error)
	// End ends a subscription now. It has no effect on a subscription that has ended.
	End(ctx context.Context, a Attempt, subscription string) error

	// CreateSetup begins the registration of a card.
	CreateSetup(ctx context.Context, a Attempt, customer string) (setup string, err error)
	// SetupSecret returns the secret with which a client continues a registration.
	SetupSecret(ctx context.Context, setup string) (clientSecret string, err error)
	// ReplaceCard makes the customer pay with a payment method that was set up for it, and collects outstanding invoices.
	// If that is declined, they stay open. It returns ErrNotFound for any other payment method.
	ReplaceCard(ctx context.Context, a Attempt, customer, paymentMethod string) (Card, error)

	// Collect makes the paying card the customer's default, and charges the open invoices of added items to it. If that is
	// declined, they stay open. It has no effect without a card.
	Collect(ctx context.Context, a Attempt, customer string) error

	// AddInvoiceItem adds an item to the subscription's next invoice while that is a draft, and otherwise charges it
	// immediately by an invoice of its own.
	//
	// Items wait for the next invoice while their sum is below the provider's smallest charge.
	AddInvoiceItem(ctx context.Context, a Attempt, item InvoiceItem) (id string, err error)
	// WaitingItems returns the items that wait for an invoice because their sum is too small for one.
	WaitingItems(ctx context.Context, customer string) ([]AddedItem, error)
	// VoidItems returns the items that were added to an invoice that is void, such as the unpaid first one of a
	// subscription.
	VoidItems(ctx context.Context, customer string) ([]AddedItem, error)
	// Owed returns the amount that a customer owes without an invoice because it was too small to be charged, in minor
	// units of a currency. It is 0 or less if nothing is owed.
	Owed(ctx context.Context, customer string) (amount int64, currency string, err error)
	// DropItem deletes a waiting item. It has no effect on a deleted one.
	DropItem(ctx context.Context, id string) error

	// SettleInvoices finalises the drafts of a customer, and attempts once to collect its open invoices. Those that stay
	// unpaid become uncollectible. The invoice of a subscription that was never paid is not changed.
	SettleInvoices(ctx context.Context, a Attempt, customer string) error
	// DeleteCustomer deletes a customer with its cards. It has no effect on a deleted one.
	DeleteCustomer(ctx context.Context, a Attempt, customer string) error

	// Events returns the provider's events since a time, oldest first, as far as the provider keeps them.
	Events(ctx context.Context, since time.Time) iter.Seq2[Event, error]
	// CustomerOf returns the customer that an event's object belongs to, or "" if it belongs to none. Errors: ErrNotFound.
	CustomerOf(ctx context.Context, e Event) (string, error)
}

// Errors of a gateway. Their messages may be shown to the caller.
var (
	ErrNotFound    = errors.New("the payment provider does not know the object")
	ErrDeclined    = errors.New("the payment was declined")
	ErrRejected    = errors.New("the payment provider does not permit it")
	ErrUnavailable = errors.New("the payment provider does not answer")
)

// DeclineCode returns the provider's reason for declining a payment, such as "insufficient_funds". It is "" if the
// provider gave no reason, and for all other errors.
func DeclineCode(err error) string {
	var declined interface{ DeclineCode() string }
	if !errors.Is(err, ErrDeclined) || !errors.As(err, &declined) {
		return ""
	}
	return declined.DeclineCode()
}

// Price is a monthly price of a product.
type Price struct {
	ID       string
	Product  string // its name
	Amount   int64
	Currency string
	Metadata map[string]string // of the price, over that of its product
}

// Keys of the metadata of a price, or of its product.
const (
	MetadataPlan          = "plan"           // plan of the price
	MetadataOverageMillis = "overage_millis" // thousandths of a minor unit for each full unit past the plan
	MetadataOverageUnit   = "overage_unit"   // characters
)

// NewSubscription is a subscription to create.
type NewSubscription struct {
	Customer string
	Price    string
	Coupon   string // "" for none
}

// PriceChange is a change of a subscription's price.
type PriceChange struct {
	Subscription string
	Price        string
	Replaces     string // invoice of a pending change to drop first; "" for none
}

// Preview is a preview of an invoice.
type Preview struct {
	AmountDue int64
	Currency  string
	Lines     []PreviewLine
}

// PreviewLine is a line of a Preview. A credit is negative.
type PreviewLine struct {
	Description string
	Amount      int64
}

// Discount is a coupon.
type Discount struct {
	Name        string
	Description string // such as "20 % off for 3 months"
}

// FirstPayment is the data with which a client pays a subscription's first invoice.
type FirstPayment struct {
	Invoice      string
	ClientSecret string
	Amount       int64
	Currency     string
	Discount     *Discount
}

// Billing is the provider's state of a customer.
type Billing struct {
	Customer      string
	Deleted       bool
	Subscriptions []Subscription // newest first, including ended ones, at most 20
	Card          *Card          // the paying card; nil: none
	Invoices      []Invoice      // newest first, at most 100, no drafts
}

// Subscription is a subscription of a customer.
type Subscription struct {
	ID                string
	Status            string // incomplete, incomplete_expired, trialing, active, past_due, canceled, unpaid or paused
	Price             string
	Attempt           string // that created it
	PeriodStart       time.Time
	PeriodEnd         time.Time
	Anchor            time.Time // start of the monthly periods
	CancelAtPeriodEnd bool
	CreatedAt         time.Time
	EndedAt           time.Time // zero: it has not ended
	Scheduled         *ScheduledChange
	Pending           *PendingChange
}

// PendingChange is a change of the price that takes effect when its invoice is paid. Until then it may lapse.
type PendingChange struct {
	Price     string
	Invoice   string
	ExpiresAt time.Time
}

// ScheduledChange is a change of the price at the end of a period.
type ScheduledChange struct {
	Price       string
	EffectiveAt time.Time
}

// Card is the displayed part of a card.
type Card struct {
	PaymentMethod string
	Brand         string // such as "visa"
	Last4         string
}

// Invoice is an invoice of a customer.
type Invoice struct {
	ID           string
	Subscription string // "" for none
	Number       string // "" for none yet
	Status       string // open, paid, uncollectible or void
	AmountDue    int64
	AmountPaid   int64
	Refunded     int64
	Disputed     bool   // a dispute is open or lost
	Dispute      string // open, won or lost; "" for none
	DisputedSum  int64
	Attempts     int64 // to collect it
	Currency     string
	CreatedAt    time.Time
	Page         string // address of its page, which is a secret; "" for none
	PDF          string // address of its PDF; likewise
}

// InvoiceItem is an amount that is added to an invoice.
type InvoiceItem struct {
	Customer     string
	Subscription string
	Amount       int64
	Currency     string
	Description  string
	Usage        string // our key of the billed usage; in the item's metadata
	Characters   int64  // billed; in the item's metadata, too
}

// AddedItem is an item that AddInvoiceItem has added.
type AddedItem struct {
	ID         string
	Usage      string
	Characters int64
	Amount     int64
	Currency   string
}

// Event is an event of the provider.
type Event struct {
	ID        string
	Type      string // such as "customer.subscription.updated"
	Object    string // id of the object concerned
	Customer  string // "" if the event names none
	CreatedAt time.Time

	OtherVersion bool // of a notice: its API version is not supported by the adapter
}

// Notice verifies a notice that claims to come from the provider, and returns its event.
type Notice interface {
	// Verify returns the event of a request's raw body. Errors: ErrForged, ErrMalformed.
	Verify(body []byte, signature string, now time.Time) (Event, error)
}

// ErrForged means that a notice was not sent by the provider, or is too old.
var ErrForged = errors.New("the notice is not signed by the payment provider")

// ErrMalformed means that a notice is signed by the provider, and does not contain an event.
var ErrMalformed = errors.New("the notice is signed, but does not contain an event of the payment provider")
