package sandbox

import (
	"slices"
	"time"
)

// product is what can be bought.
type product struct {
	base
	Active       bool     `json:"active"`
	Name         string   `json:"name"`
	Description  text     `json:"description"`
	DefaultPrice text     `json:"default_price"`
	Images       []string `json:"images"`
	Type         string   `json:"type"`
	Updated      unix     `json:"updated"`
}

func (*product) kind() string { return "prod" }

// price is what a product costs.
type price struct {
	base
	Active        bool       `json:"active"`
	BillingScheme string     `json:"billing_scheme"`
	Currency      string     `json:"currency"`
	LookupKey     text       `json:"lookup_key"`
	Nickname      text       `json:"nickname"`
	Product       text       `json:"product"`
	Recurring     *recurring `json:"recurring"`
	Type          string     `json:"type"`
	UnitAmount    int64      `json:"unit_amount"`
}

type recurring struct {
	Interval      string `json:"interval"` // day, week, month or year
	IntervalCount int64  `json:"interval_count"`
	UsageType     string `json:"usage_type"`
}

func (*price) kind() string { return "price" }

func createProduct(w *work) (any, error) {
	b, err := w.newBase("prod", "product")
	if err != nil {
		return nil, err
	}
	if id := w.form.String("id"); id != "" {
		b.ID = id
	}
	p := &product{base: b, Name: w.form.Required("name"), Images: []string{}, Type: "service"}
	p.Active = w.form.Bool("active", true)
	p.Description, p.Updated = text(w.form.String("description")), at(w.now)
	return w.saved(p, "product.created")
}

func updateProduct(w *work) (any, error) {
	p, err := find[product](w, w.id)
	if err != nil {
		return nil, err
	}
	w.mergeMetadata(&p.base)
	p.Active, p.Updated = w.form.Bool("active", p.Active), at(w.now)
	if name := w.form.String("name"); name != "" {
		p.Name = name
	}
	if w.form.Has("description") {
		p.Description = text(w.form.String("description"))
	}
	return w.saved(p, "product.updated")
}

func listProducts(w *work) (any, error) {
	active, ids := w.form.String("active"), w.form.Strings("ids")
	return page(w, "", func(p *product) bool {
		return is(active, p.Active) && (len(ids) == 0 || slices.Contains(ids, p.ID))
	})
}

// is reports whether a flag is as a filter wants it, which "" does not mind.
func is(filter string, flag bool) bool { return filter == "" || (filter == "true") == flag }

func createPrice(w *work) (any, error) {
	b, err := w.newBase("price", "price")
	if err != nil {
		return nil, err
	}
	owner, err := find[product](w, w.form.Required("product"))
	if err != nil {
		return nil, err
	}
	p := &price{
		base: b, Active: w.form.Bool("active", true), BillingScheme: "per_unit",
		Currency: w.form.Required("currency"), LookupKey: text(w.form.String("lookup_key")),
		Nickname: text(w.form.String("nickname")), Product: text(owner.ID),
		Type: "one_time", UnitAmount: w.form.Int("unit_amount", 0),
	}
	if w.form.Has("recurring") {
		r := w.form.Sub("recurring")
		p.Type = "recurring"
		p.Recurring = &recurring{
			Interval: r.Required("interval"), IntervalCount: r.Int("interval_count", 1),
			UsageType: r.Enum("usage_type", "licensed"),
		}
	}
	return w.saved(p, "price.created")
}

func updatePrice(w *work) (any, error) {
	p, err := find[price](w, w.id)
	if err != nil {
		return nil, err
	}
	w.mergeMetadata(&p.base)
	p.Active = w.form.Bool("active", p.Active)
	if w.form.Has("nickname") {
		p.Nickname = text(w.form.String("nickname"))
	}
	return w.saved(p, "price.updated")
}

func listPrices(w *work) (any, error) {
	active, owner, currency := w.form.String("active"), w.form.String("product"), w.form.String("currency")
	kind, keys := w.form.String("type"), w.form.Strings("lookup_keys")
	interval := w.form.Sub("recurring").String("interval")
	return page(w, "", func(p *price) bool {
		return is(active, p.Active) && (owner == "" || string(p.Product) == owner) &&
			(currency == "" || p.Currency == currency) && (kind == "" || p.Type == kind) &&
			(len(keys) == 0 || slices.Contains(keys, string(p.LookupKey))) &&
			(interval == "" || p.Recurring != nil && p.Recurring.Interval == interval)
	})
}

// coupon is a discount that can be given.
type coupon struct {
	base
	Name             text    `json:"name"`
	AmountOff        int64   `json:"amount_off,omitempty"`
	Currency         text    `json:"currency"`
	PercentOff       float64 `json:"percent_off,omitempty"`
	Duration         string  `json:"duration"` // once, repeating or forever
	DurationInMonths int64   `json:"duration_in_months,omitempty"`
	MaxRedemptions   int64   `json:"max_redemptions,omitempty"`
	RedeemBy         unix    `json:"redeem_by"`
	TimesRedeemed    int64   `json:"times_redeemed"`
	Valid            bool    `json:"valid"`
	Deleted          bool    `json:"sandbox_deleted,omitempty"` // it still counts for those who have it
}

// Key implements store.Object.
func (c *coupon) Key() string { return keyOf(couponKind, c.ID) }

func (*coupon) kind() string { return couponKind }

// discount is a coupon that was given.
type discount struct {
	base
	Customer     text           `json:"customer"`
	Subscription text           `json:"subscription"`
	Source       discountSource `json:"source"`
	Start        unix           `json:"start"`
	End          unix           `json:"end"`
}

type discountSource struct {
	Coupon text   `json:"coupon"`
	Type   string `json:"type"`
}

func (*discount) kind() string { return "di" }

func createCoupon(w *work) (any, error) {
	b, err := w.newBase(couponKind, "coupon")
	if err != nil {
		return nil, err
	}
	if id := w.form.String("id"); id != "" {
		b.ID = id
	}
	c := &coupon{
		base: b, Name: text(w.form.String("name")), Valid: true,
		AmountOff: w.form.Int("amount_off", 0), Currency: text(w.form.String("currency")),
		PercentOff: w.form.Float("percent_off"), Duration: w.form.Enum("duration", "once", "repeating", "forever"),
		DurationInMonths: w.form.Int("duration_in_months", 0),
		MaxRedemptions:   w.form.Int("max_redemptions", 0), RedeemBy: at(w.form.Time("redeem_by")),
	}
	if (c.AmountOff > 0) == (c.PercentOff > 0) {
		return nil, invalid("", "", "You must pass one of amount_off and percent_off")
	}
	return w.saved(c, "coupon.created")
}

// usableCoupon returns a coupon that has not been deleted.
func (w *work) usableCoupon(id string) (*coupon, error) {
	c, err := find[coupon](w, id)
	if err == nil && c.Deleted {
		return nil, w.missing(couponKind, id)
	}
	return c, err
}

func getCoupon(w *work) (any, error) { return w.usableCoupon(w.id) }

func deleteCoupon(w *work) (any, error) {
	c, err := w.usableCoupon(w.id)
	if err != nil {
		return nil, err
	}
	c.Deleted, c.Valid = true, false
	return deleted(c.ID, "coupon"), w.update(c, "coupon.deleted")
}

func listCoupons(w *work) (any, error) {
	return page(w, "", func(c *coupon) bool { return !c.Deleted })
}

// redeem gives a customer's subscription a coupon.
func (w *work) redeem(id string, s *subscription) (*discount, error) {
	c, err := w.usableCoupon(id)
	if err != nil {
		return nil, err
	}
	late := c.RedeemBy != 0 && c.RedeemBy.time().Before(w.now)
	if !c.Valid || late || c.MaxRedemptions > 0 && c.TimesRedeemed >= c.MaxRedemptions {
		return nil, invalid("coupon_expired", "discounts[0][coupon]", "Coupon expired: %s", id)
	}
	b, err := w.newBase("di", "discount")
	if err != nil {
		return nil, err
	}
	d := &discount{
		base: b, Customer: s.Customer, Subscription: text(s.ID), Start: at(w.now),
		Source: discountSource{Coupon: text(c.ID), Type: "coupon"},
	}
	if c.Duration == "repeating" {
		d.End = at(addMonths(w.now, int(c.DurationInMonths)))
	}
	c.TimesRedeemed++
	return d, w.save(c, d)
}

// off returns how much a subscription's discount takes from an amount. A discount that is over is taken away; one that
// counts once is used up if it is used.
func (w *work) off(s *subscription, amount int64, use bool) (int64, text, error) {
	if len(s.Discounts) == 0 {
		return 0, "", nil
	}
	d, err := find[discount](w, s.Discounts[0])
	if err != nil {
		return 0, "", err
	}
	if d.End != 0 && !w.now.Before(d.End.time()) {
		s.Discounts = []string{}
		return 0, "", nil
	}
	c, err := find[coupon](w, string(d.Source.Coupon))
	if err != nil {
		return 0, "", err
	}
	if use && c.Duration == "once" {
		s.Discounts = []string{}
	}
	if c.PercentOff > 0 {
		return int64(float64(amount)*c.PercentOff/100 + 0.5), text(d.ID), nil
	}
	return min(c.AmountOff, amount), text(d.ID), nil
}

// addMonths returns a time some months later, on the last day of a month that is too short.
func addMonths(t time.Time, months int) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}

// plan is a product that every sandbox has.
type plan struct {
	name, title string
	amount      int64
	overage     string // thousandths of a cent for 1000 characters
}

const seededSetting = "seeded"

// seed makes the products, prices and the coupon that every sandbox has, once.
func (s *Sandbox) seed(w *work) error {
	var done bool
	if err := w.tx.Setting(seededSetting, &done); err != nil || done {
		return err
	}
	for _, p := range []plan{
		{name: "indie", title: "Indie", amount: 1000, overage: "5000"},
		{name: "pro", title: "Pro", amount: 4900, overage: "4500"},
		{name: "premium", title: "Premium", amount: 19900, overage: "3500"},
	} {
		if err := w.seedPlan(p); err != nil {
			return err
		}
	}
	welcome := &coupon{
		base: base{ID: WelcomeCoupon, Object: "coupon", Created: at(w.now), Metadata: map[string]string{}},
		Name: "Welcome", PercentOff: 20, Duration: "repeating", DurationInMonths: 3, Valid: true,
	}
	if err := w.save(welcome); err != nil {
		return err
	}
	return w.tx.SetSetting(seededSetting, true)
}

// WelcomeCoupon is the coupon that every sandbox has: 20 % off for 3 months.
const WelcomeCoupon = "WELCOME"

// PriceOf returns the price of a plan that every sandbox has: indie, pro or premium.
func PriceOf(plan string) string { return "price_" + plan }

func (w *work) seedPlan(p plan) error {
	sold := &product{
		base:   base{ID: "prod_" + p.name, Object: "product", Created: at(w.now), Metadata: map[string]string{"plan": p.name}},
		Active: true, Name: p.title, DefaultPrice: text(PriceOf(p.name)), Images: []string{}, Type: "service", Updated: at(w.now),
	}
	costs := &price{
		base: base{ID: PriceOf(p.name), Object: "price", Created: at(w.now), Metadata: map[string]string{
			"plan": p.name, "overage_millis": p.overage, "overage_unit": "1000",
		}},
		Active: true, BillingScheme: "per_unit", Currency: "usd", Product: text(sold.ID), Type: "recurring",
		UnitAmount: p.amount, Recurring: &recurring{Interval: "month", IntervalCount: 1, UsageType: "licensed"},
	}
	return w.save(sold, costs)
}
