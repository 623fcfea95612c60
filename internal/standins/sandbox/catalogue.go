package sandbox

import (
	"cmp"
	"strings"
	"time"
)

// product is a product for sale.
type product struct {
	base
	Active bool   `json:"active"`
	Name   string `json:"name"`
}

func (*product) kind() string { return "prod" }

// price is the monthly price of a product.
type price struct {
	base
	Active        bool      `json:"active"`
	BillingScheme string    `json:"billing_scheme"`
	Currency      string    `json:"currency"`
	LookupKey     text      `json:"lookup_key"`
	Product       text      `json:"product"`
	Recurring     recurring `json:"recurring"`
	Type          string    `json:"type"`
	UnitAmount    int64     `json:"unit_amount"`
}

type recurring struct {
	Interval      string `json:"interval"`
	IntervalCount int64  `json:"interval_count"`
	UsageType     string `json:"usage_type"`
}

func (*price) kind() string { return "price" }

// coupon is a discount that subscriptions can redeem.
type coupon struct {
	base
	Name             string  `json:"name"`
	PercentOff       float64 `json:"percent_off"`
	Duration         string  `json:"duration"`
	DurationInMonths int     `json:"duration_in_months"`
	Valid            bool    `json:"valid"`
}

func (*coupon) kind() string  { return couponKind }
func (c *coupon) key() string { return keyOf(couponKind, c.ID) }

// discount is a redeemed coupon.
type discount struct {
	base
	Source discountSource `json:"source"`
	End    unix           `json:"end"`
}

type discountSource struct {
	Coupon text   `json:"coupon"`
	Type   string `json:"type"`
}

func (*discount) kind() string { return "di" }

// WelcomeCoupon is the coupon that every sandbox has: 20 % off for 3 months.
const WelcomeCoupon = "WELCOME"

// PriceOf returns the price of a plan that every sandbox has: indie, pro or premium.
func PriceOf(plan string) string { return "price_" + plan }

const seededSetting = "seeded"

// seed creates the products, prices and the coupon of every sandbox once.
func (w *work) seed() {
	var done bool
	if w.tx.setting(seededSetting, &done); done {
		return
	}
	for _, plan := range []struct {
		name, title string
		amount      int64
		overage     string // thousandths of a cent per 1000 characters
	}{
		{"indie", "Indie", 1000, "5000"}, {"pro", "Pro", 4900, "4500"}, {"premium", "Premium", 19900, "3500"},
	} {
		sold := &product{
			base: base{
				ID: "prod_" + plan.name, Object: "product", Created: at(w.now), Metadata: map[string]string{"plan": plan.name},
			},
			Active: true, Name: plan.title,
		}
		metadata := map[string]string{"plan": plan.name, "overage_millis": plan.overage, "overage_unit": "1000"}
		w.save(sold, monthly(base{
			ID: PriceOf(plan.name), Object: "price", Created: at(w.now), Metadata: metadata,
		}, sold, plan.amount, "usd"))
	}
	w.save(&coupon{
		base: base{ID: WelcomeCoupon, Object: "coupon", Created: at(w.now)},
		Name: "Welcome", PercentOff: 20, Duration: "repeating", DurationInMonths: 3, Valid: true,
	})
	w.tx.setSetting(seededSetting, true)
}

func monthly(b base, of *product, amount int64, currency string) *price {
	return &price{
		base: b, Active: true, BillingScheme: "per_unit", Currency: currency, Product: text(of.ID), Type: "recurring",
		UnitAmount: amount, Recurring: recurring{Interval: "month", IntervalCount: 1, UsageType: "licensed"},
	}
}

func createProduct(w *work) (any, error) {
	p := &product{base: w.newBase("prod", "product"), Active: w.form.Bool("active", true), Name: w.form.Required("name")}
	// The prefix makes the store find the object by its id.
	if chosen := w.form.String("id"); chosen != "" {
		p.ID = "prod_" + chosen
	}
	return w.saved(p, "product.created"), nil
}

func updateProduct(w *work, p *product) (any, error) {
	w.mergeMetadata(&p.base)
	p.Active, p.Name = w.form.Bool("active", p.Active), cmp.Or(w.form.String("name"), p.Name)
	return w.saved(p, "product.updated"), nil
}

func createPrice(w *work) (any, error) {
	of, err := find[product](w, w.form.Required("product"))
	if err != nil {
		return nil, err
	}
	w.form.Sub("recurring").Enum("interval", "month")
	p := monthly(w.newBase("price", "price"), of, w.form.Int("unit_amount", 0), w.form.Required("currency"))
	p.LookupKey = text(w.form.String("lookup_key"))
	return w.saved(p, "price.created"), nil
}

func updatePrice(w *work, p *price) (any, error) {
	w.mergeMetadata(&p.base)
	p.Active = w.form.Bool("active", p.Active)
	return w.saved(p, "price.updated"), nil
}

// pricesOnSale returns the filter for a list of prices.
func pricesOnSale(w *work) func(*price) bool {
	active := w.form.String("active")
	w.form.String("type")
	w.form.Sub("recurring").String("interval") // all prices here are monthly
	return func(p *price) bool { return active == "" || (active == "true") == p.Active }
}

// priceForSale returns an active price.
func (w *work) priceForSale(id string) (*price, error) {
	p, err := find[price](w, id)
	if err == nil && !p.Active {
		return nil, invalid("", "items[0][price]", "The price specified is inactive. This field only accepts active prices.")
	}
	return p, err
}

// redeem redeems a coupon for a subscription.
func (w *work) redeem(id string, s *subscription) error {
	c, err := find[coupon](w, id)
	if err != nil {
		return err
	}
	b := w.bareBase("di", "discount")
	w.save(&discount{
		base: b, Source: discountSource{Coupon: text(c.ID), Type: "coupon"}, End: at(addMonths(w.now, c.DurationInMonths)),
	})
	s.Discounts = []string{b.ID}
	return nil
}

// off returns the discount of a subscription on an amount, and removes a discount that has ended.
func (w *work) off(s *subscription, amount int64) int64 {
	if len(s.Discounts) == 0 {
		return 0
	}
	d := get[discount](w, s.Discounts[0])
	if !w.now.Before(d.End.time()) {
		s.Discounts = []string{}
		return 0
	}
	return int64(float64(amount)*get[coupon](w, d.Source.Coupon).PercentOff/100 + 0.5)
}

// addMonths adds months to t. If the resulting month is too short, it returns the month's last day.
func addMonths(t time.Time, months int) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}

// customer is an account that pays.
type customer struct {
	base
	Balance         int64            `json:"balance"` // owed if positive
	Currency        text             `json:"currency"`
	Email           text             `json:"email"`
	NextInvoice     int64            `json:"next_invoice_sequence"`
	InvoiceSettings customerInvoices `json:"invoice_settings"`
	Deleted         bool             `json:"deleted,omitempty"`
}

type customerInvoices struct {
	DefaultPaymentMethod text `json:"default_payment_method"`
}

func (*customer) kind() string  { return "cus" }
func (c *customer) alive() bool { return !c.Deleted }

// livingCustomer returns a customer, unless it is deleted.
func (w *work) livingCustomer(id string) (*customer, error) {
	c, err := find[customer](w, id)
	if err == nil && c.Deleted {
		return nil, w.missing("cus", id)
	}
	return c, err
}

func createCustomer(w *work) (any, error) {
	return w.saved(&customer{base: w.newBase("cus", "customer"), NextInvoice: 1}, "customer.created"), nil
}

func retrieveCustomer(w *work) (any, error) {
	c, err := find[customer](w, w.id)
	if err != nil || !c.Deleted {
		return c, err
	}
	return c.remains(), nil
}

func updateCustomer(w *work, c *customer) (any, error) {
	w.mergeMetadata(&c.base)
	if w.form.Has("email") {
		if c.Email = text(w.form.String("email")); c.Email != "" && !strings.Contains(string(c.Email), "@") {
			return nil, invalid("email_invalid", "email", "Invalid email address.")
		}
	}
	if err := w.setMethod(w.form.Sub("invoice_settings"), c.ID, &c.InvoiceSettings.DefaultPaymentMethod); err != nil {
		return nil, err
	}
	return w.saved(c, "customer.updated"), nil
}

// EmailOf returns the e-mail address of a customer.
func (s *Sandbox) EmailOf(id string) (string, error) {
	c, err := look(s, func(w *work) (*customer, error) { return w.livingCustomer(id) })
	if err != nil {
		return "", err
	}
	return string(c.Email), nil
}

// deleteCustomer deletes a customer, cancels its subscriptions and detaches its cards.
func deleteCustomer(w *work, c *customer) (any, error) {
	for _, s := range list[subscription](w, c.ID) {
		if !s.ended() {
			w.end(s, "cancellation_requested")
		}
	}
	for _, m := range list[paymentMethod](w, c.ID) {
		m.Customer = ""
		w.update(m, "payment_method.detached")
	}
	c = get[customer](w, c.ID)
	c.Deleted, c.Email, c.InvoiceSettings.DefaultPaymentMethod = true, "", ""
	w.update(c, "customer.deleted")
	return c.remains(), nil
}
